// Shared by both halves: the key, the capability and the message of the field.
import { Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

export const key = 'amplification'
export const capability: Capability = { id: 'rule.amplification', since: '2.1.0' }

/** The reason under which statistics count replies that are dropped. */
export const refusal = 'amplification'

export const maxRatio = 1_000
export const maxProvenAfter = 1_000
export const defaultProvenAfter = 8

export const Cap = defineMessage({
  name: 'sluice.amplification.Cap',
  proto: new URL('./amplification.proto', import.meta.url),
  body: Type.Object({
    ratio: Type.Integer({ minimum: 1, maximum: maxRatio }),
    proven_after: Type.Integer({ minimum: 0, maximum: maxProvenAfter })
  })
})
