// Shared by both halves: keys, capability and messages of the fields.
import { type Capability, defineMessage, Type } from 'sluice/agent-plugin'

export const keys = { in: 'proxy_protocol_in', out: 'proxy_protocol_out' } as const
export const capability: Capability = { id: 'rule.proxy-protocol', since: '1.0.0' }
export const maxSenders = 64

const proto = new URL('./proxy_protocol.proto', import.meta.url)

export const Senders = defineMessage({
  name: 'proxy_protocol.Senders',
  proto,
  body: Type.Object({
    from: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: maxSenders })
  })
})

export const Outgoing = defineMessage({
  name: 'proxy_protocol.Outgoing',
  proto,
  body: Type.Object({ version: Type.Integer({ minimum: 2, maximum: 2 }) })
})
