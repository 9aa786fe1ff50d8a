import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { ClientId, closed, timeOf, UserId } from '../../kernel/http/schema.ts'
import { properties, RateLimit } from './limits.ts'

export const limitsEmpty = defineCode('validation.rate_limit_empty', 400, 3)

const OwnerId = Type.String({ ...UserId, description: 'user_id of the owner.' })

export const EnvelopeRow = closed(
  {
    client_id: ClientId,
    owner_id: OwnerId,
    rate_limit: RateLimit,
    enforced: Type.Boolean({
      description: 'Whether the client enforces these limits, as last reported by its agent.'
    }),
    updated_at: timeOf('Time of the last change.')
  },
  { $id: 'OwnerRateLimit' }
)
export type EnvelopeRow = Static<typeof EnvelopeRow>

/** The limits at the top level, or a row from an earlier read; read-only fields are ignored. */
export const EnvelopeBody = Type.Object(
  { ...properties, ...Type.Partial(EnvelopeRow).properties },
  {
    additionalProperties: false,
    description: 'Limits of all rules of the owner on the client together.',
    examples: [{ bandwidth_out_bps: 100_000_000, concurrent_connections: 500 }]
  }
)
export type EnvelopeBody = Static<typeof EnvelopeBody>

/** An entry of the document of `apply`. */
export const DocumentBody = closed({
  client: Type.String({ description: 'client_id, or a unique client name.' }),
  owner: OwnerId,
  rate_limit: RateLimit
})

export const OwnerRow = closed(
  {
    owner_id: OwnerId,
    rule_count: Type.Integer({ minimum: 0, description: 'Rules on the client.', examples: [3] }),
    has_rate_limit: Type.Boolean({ description: 'Whether the owner has an envelope on the client.' })
  },
  { $id: 'Owner' }
)
export type OwnerRow = Static<typeof OwnerRow>

export const ClientParams = closed({ client_id: ClientId })
export const OwnerParams = closed({ client_id: ClientId, owner_id: OwnerId })
export type OwnerParams = Static<typeof OwnerParams>
