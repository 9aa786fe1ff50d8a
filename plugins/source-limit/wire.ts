// Shared by both halves: the key, the capability and the message of the field.
import { type Static, Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

export const key = 'source_limit'
export const capability: Capability = { id: 'rule.source-limit', since: '2.1.0' }

/** The reason under which statistics count callers beyond the limit. */
export const refusal = 'source_limit'

export const maxCount = 1_000_000
export const maxWithinSecs = 86_400
export const defaultWithinSecs = 10

export const Limit = defineMessage({
  name: 'sluice.source_limit.Limit',
  proto: new URL('./source-limit.proto', import.meta.url),
  body: Type.Object({
    connections: Type.Optional(Type.Integer({ minimum: 1, maximum: maxCount })),
    new_connections: Type.Optional(Type.Integer({ minimum: 1, maximum: maxCount })),
    within_secs: Type.Optional(Type.Integer({ minimum: 1, maximum: maxWithinSecs }))
  })
})
export type Limit = Static<typeof Limit.body>
