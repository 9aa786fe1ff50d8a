// The agent half: the engine reads and writes the headers.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { proxyIn, proxyOut, proxyOutUdp, refusals } from './fields.ts'
import { proxyPreamble } from './proxy-preamble.ts'

export default {
  name: 'proxy-protocol',
  agent: '^1.5.0',
  explain({ path: { spec, plan }, refused }) {
    if (!plan.firstRead) return []
    const step = { kind: 'rule', id: spec.id } as const
    if (refused.get(refusals.untrusted)?.isLast) {
      const text = 'the last caller was not one of the proxies in proxy_in'
      return [{ ...step, verdict: 'info', reason: refusals.untrusted, text }]
    }
    if (refused.get(refusals.header)?.isLast) {
      const text =
        'the last caller sent no valid PROXY header within 3 s: configure the proxy in front to send it'
      return [{ ...step, verdict: 'stop', reason: refusals.header, text }]
    }
    const text = `proxies in front (${plan.firstRead.from.join(', ')}) must send a PROXY header`
    return [{ ...step, verdict: 'info', reason: null, text }]
  },
  fields: [
    defineField({
      ...proxyIn,
      plan({ value: from }, draft) {
        draft.firstRead = { form: 'proxy_protocol', from, refusals }
      }
    }),
    defineField({
      ...proxyOut,
      plan({ value: version }, draft, { protocol }) {
        draft.preamble = proxyPreamble(version, protocol)
      }
    }),
    defineField({
      ...proxyOutUdp,
      plan(_, draft) {
        // Fields are planned in the order of their keys.
        if (draft.preamble) draft.preamble = { ...draft.preamble, datagrams: 'each' }
      }
    })
  ]
} satisfies AgentPlugin
