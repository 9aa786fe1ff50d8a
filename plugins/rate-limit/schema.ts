import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { closed, Time } from '../../kernel/http/schema.ts'
import { properties, RateLimit } from './limits.ts'

export const limitsEmpty = defineCode('validation.rate_limit_empty', 400, 3)

export const EnvelopeRow = closed({
  client_id: Type.String(),
  owner_id: Type.String(),
  rate_limit: RateLimit,
  enforced: Type.Boolean({
    description: 'The agent of the client has these limits in force, as last heard from it.'
  }),
  updated_at: Time
})
export type EnvelopeRow = Static<typeof EnvelopeRow>

/** The limits at the top level, or a row as it was read; read-only fields are ignored. */
export const EnvelopeBody = Type.Object(
  { ...properties, ...Type.Partial(EnvelopeRow).properties },
  { additionalProperties: false, description: 'Limits of all rules of the owner on the client together.' }
)
export type EnvelopeBody = Static<typeof EnvelopeBody>

/** An entry of the document of `apply`; its client has an id or a name. */
export const DocumentBody = closed({
  client: Type.String(),
  owner: Type.String({ description: 'user_id' }),
  rate_limit: RateLimit
})

export const OwnerRow = closed({
  owner_id: Type.String(),
  rule_count: Type.Integer({ minimum: 0 }),
  has_rate_limit: Type.Boolean()
})
export type OwnerRow = Static<typeof OwnerRow>

export const ClientParams = closed({ client_id: Type.String() })
export const OwnerParams = closed({ client_id: Type.String(), owner_id: Type.String() })
export type OwnerParams = Static<typeof OwnerParams>
