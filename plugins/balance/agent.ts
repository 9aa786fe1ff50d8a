// The agent half: the engine chooses the target; who is out, and who returns how fast, is decided here.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { openEjections } from './balance.ts'
import {
  capability,
  ejectionCapability,
  key,
  messages,
  optionKeys,
  SlowConnect,
  SlowStart,
  SourcePrefix,
  Spread
} from './wire.ts'

const slowConnect = defineField({ key: optionKeys.slowConnectMs, message: SlowConnect })
const slowStart = defineField({ key: optionKeys.slowStartSecs, message: SlowStart })
const { opened, changed, gone, event, start } = openEjections({ slowConnect, slowStart })

export default {
  name: 'balance',
  agent: '^1.5.0',
  capabilities: {
    [capability.id]: capability.since,
    [ejectionCapability.id]: ejectionCapability.since
  },
  messages,
  fields: [
    slowConnect,
    slowStart,
    defineField({
      key,
      message: Spread,
      plan(spread, draft) {
        draft.balance = spread
      },
      opened,
      changed,
      gone
    }),
    defineField({
      key: optionKeys.sourcePrefix,
      message: SourcePrefix,
      plan({ bits }, draft) {
        // Fields are planned in the order of their keys.
        if (draft.balance) draft.balance = { ...draft.balance, ipv6Prefix: bits }
      }
    })
  ],
  event,
  async start({ call, defer }) {
    defer(start(call))
  }
} satisfies AgentPlugin
