import { defineCommand, Type } from 'sluice/plugin'
import { field } from './field.ts'

const List = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

const set = defineCommand({
  name: 'source-acl set',
  summary: 'Set which source addresses may use a rule; without lists all may.',
  args: Type.Object({
    rule: Type.String({ description: 'Id of a rule.' }),
    allow: List('Address or prefix that is allowed; may be repeated.'),
    deny: List('Address or prefix that is denied, also when it is allowed; may be repeated.')
  }),
  positional: ['rule'],
  async run({ api, args: { rule, allow = [], deny = [] }, print }) {
    const lists = allow.length + deny.length === 0 ? null : { allow, deny }
    print.data(await api.send<object>('PUT', `/v1/rules/${encodeURIComponent(rule)}`, { [field.key]: lists }))
  }
})

export const commands = [set]
