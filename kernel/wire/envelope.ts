import { Type } from 'typebox'
import { Bytes, defineMessage, type Message } from './message.ts'

const proto = new URL('./wire.proto', import.meta.url)

/** The content of one frame: an encoded message, and for requests and responses the id that pairs them. */
export const Envelope = defineMessage({
  name: 'sluice.wire.Envelope',
  proto,
  body: Type.Object({
    name: Type.String(),
    body: Bytes,
    id: Type.Integer(),
    re: Type.Integer(),
    request: Type.String({ pattern: '^[A-Za-z0-9._-]{0,64}$' })
  })
})

export const Refusal = defineMessage({
  name: 'sluice.wire.Refusal',
  proto,
  body: Type.Object({ code: Type.String(), message: Type.String() })
})

export const wireMessages: readonly Message[] = [Envelope, Refusal]
