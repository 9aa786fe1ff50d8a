// The agent half: headers are read and written by the engine.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { headerOf } from './proxy-protocol.ts'
import { capability, EachDatagram, Header, keys, messages, refusals, Senders } from './wire.ts'

export default {
  name: 'proxy-protocol',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  explain({ path: { spec, plan }, refused }) {
    if (!plan.firstRead) return []
    const step = { kind: 'rule', id: spec.id } as const
    if (refused.get(refusals.untrusted)?.isLast)
      return [
        {
          ...{ ...step, verdict: 'info', reason: refusals.untrusted },
          text: 'the last caller was none of the proxies in proxy_in'
        }
      ]
    if (refused.get(refusals.header)?.isLast)
      return [
        {
          ...{ ...step, verdict: 'stop', reason: refusals.header },
          text: 'the last caller sent no PROXY header, or a wrong one, within 3 s: let the proxy in front send it'
        }
      ]
    const text = `proxies in front (${plan.firstRead.from.join(', ')}) must send a PROXY header`
    return [{ ...step, verdict: 'info', reason: null, text }]
  },
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
