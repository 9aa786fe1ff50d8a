// The agent half: headers are read and written by the engine.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { headerOf } from './proxy-protocol.ts'
import { capability, EachDatagram, Header, keys, messages, refusals, Senders } from './wire.ts'

export default {
  name: 'proxy-protocol',
  agent: '^1.4.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  fields: [
    defineField({
      key: keys.in,
      message: Senders,
      plan({ from }, draft) {
        draft.firstRead = { form: 'proxy_protocol', from, refusals }
      }
    }),
    defineField({
      key: keys.out,
      message: Header,
      plan({ version }, draft, { protocol }) {
        draft.preamble = headerOf(version, protocol)
      }
    }),
    defineField({
      key: keys.outUdp,
      message: EachDatagram,
      plan(_, draft) {
        // Fields are planned in the order of their keys.
        if (draft.preamble) draft.preamble = { ...draft.preamble, datagrams: 'each' }
      }
    })
  ]
} satisfies AgentPlugin
