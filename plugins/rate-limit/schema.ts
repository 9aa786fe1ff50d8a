import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { properties, RateLimit } from './limits.ts'

export const limitsEmpty = defineCode('validation.rate_limit_empty', 400, 3)

const closed = { additionalProperties: false } as const

export const EnvelopeRow = Type.Object(
  {
    client_id: Type.String(),
    owner_id: Type.String(),
    rate_limit: RateLimit,
    updated_at: Type.String({ format: 'date-time' })
  },
  closed
)
export type EnvelopeRow = Static<typeof EnvelopeRow>

/** The limits at the top level, or a row as it was read; read-only fields are ignored. */
export const EnvelopeBody = Type.Object(
  { ...properties, ...Type.Partial(EnvelopeRow).properties },
  { ...closed, description: 'Limits of all rules of the owner on the client together.' }
)
export type EnvelopeBody = Static<typeof EnvelopeBody>

export const OwnerRow = Type.Object(
  {
    owner_id: Type.String(),
    rule_count: Type.Integer({ minimum: 0 }),
    has_rate_limit: Type.Boolean()
  },
  closed
)
export type OwnerRow = Static<typeof OwnerRow>

export const ClientParams = Type.Object({ client_id: Type.String() }, closed)
export const OwnerParams = Type.Object({ client_id: Type.String(), owner_id: Type.String() }, closed)
export type OwnerParams = Static<typeof OwnerParams>
