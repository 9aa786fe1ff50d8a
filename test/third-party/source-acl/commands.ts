import { defineCommand, Type } from 'sluice/plugin'
import { field } from './field.ts'

const List = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

const set = defineCommand({
  name: 'source-acl set',
  summary: 'Set the source addresses that may use a rule; without lists all may.',
  args: Type.Object({
    rule: Type.String({ description: 'Id of a rule.' }),
    allow: List('Allowed address or prefix; repeatable.'),
    deny: List('Denied address or prefix, takes precedence over --allow; repeatable.')
  }),
  positional: ['rule'],
  async run({ api, args: { rule, allow = [], deny = [] }, print }) {
    const lists = allow.length + deny.length === 0 ? null : { allow, deny }
    print.data(await api.send<object>('PUT', `/v1/rules/${encodeURIComponent(rule)}`, { [field.key]: lists }))
  }
})

export const commands = [set]
