// The agent half: the engine chooses the target, and this half ejects targets and returns them to service.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { openEjections, slowConnectField, slowStartField } from './ejections.ts'
import { balance, sourcePrefix } from './fields.ts'

const { opened, changed, gone, event, start } = openEjections()

export default {
  name: 'balance',
  agent: '^1.5.0',
  fields: [
    slowConnectField,
    slowStartField,
    defineField({
      ...balance,
      plan(spread, draft) {
        draft.balance = spread
      },
      opened,
      changed,
      gone
    }),
    defineField({
      ...sourcePrefix,
      plan({ value: ipv6Prefix }, draft) {
        // Fields are planned in the order of their keys.
        if (draft.balance) draft.balance = { ...draft.balance, ipv6Prefix }
      }
    })
  ],
  event,
  async start({ call, defer }) {
    defer(start(call))
  }
} satisfies AgentPlugin
