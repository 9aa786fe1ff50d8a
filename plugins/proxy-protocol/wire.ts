// Shared by both halves: the keys, the capability and the messages of the fields.
import { Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

const proto = new URL('./proxy-protocol.proto', import.meta.url)

export const keys = { in: 'proxy_in', out: 'proxy_out', outUdp: 'proxy_out_udp' } as const

export const capability: Capability = { id: 'rule.proxy', since: '2.1.0' }

/** Why an engine refuses a caller of a rule with `proxy_in`, as statistics count it. */
export const refusals = { header: 'proxy_header', untrusted: 'proxy_untrusted' } as const

export const maxSenders = 64

export const Senders = defineMessage({
  name: 'sluice.proxy_protocol.Senders',
  proto,
  body: Type.Object({
    from: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: maxSenders })
  })
})

export const Header = defineMessage({
  name: 'sluice.proxy_protocol.Header',
  proto,
  body: Type.Object({ version: Type.Integer({ minimum: 1, maximum: 2 }) })
})

export const EachDatagram = defineMessage({
  name: 'sluice.proxy_protocol.EachDatagram',
  proto,
  body: Type.Object({})
})

export const messages = [Senders, Header, EachDatagram]
