import { Type } from 'typebox'
import { Bytes, Count, defineMessage, type Message } from './message.ts'

const proto = new URL('./wire.proto', import.meta.url)

/** The content of a frame: an encoded message, and an id that pairs requests with responses. */
export const Envelope = defineMessage({
  name: 'sluice.wire.Envelope',
  proto,
  body: Type.Object({
    name: Type.String({ maxLength: 128 }),
    body: Bytes,
    id: Count,
    re: Count,
    request: Type.String({ pattern: '^[A-Za-z0-9._-]{0,64}$' }),
    trace: Type.Optional(Type.String({ pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$' })),
    handled_us: Type.Optional(Count)
  })
})

export const Refusal = defineMessage({
  name: 'sluice.wire.Refusal',
  proto,
  body: Type.Object({ code: Type.String({ maxLength: 64 }), message: Type.String({ maxLength: 1000 }) })
})

export const wireMessages: readonly Message[] = [Envelope, Refusal]
