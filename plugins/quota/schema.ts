import { type Static, Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { closed } from '../../kernel/http/schema.ts'

export const invalidQuotaSize = defineCode('invalid_quota_size', 400, 3)
export const invalidBillingAnchor = defineCode('invalid_billing_anchor', 400, 3)

export const invalidAnchor = (reason: string): Fault =>
  new Fault(invalidBillingAnchor, `/billing_anchor ${reason}`, {
    details: { field: '/billing_anchor', reason: 'anchor' }
  })

/** Throws if the anchor is in the future. */
export function checkAnchor(anchor: number | undefined, nowMs: number): number | undefined {
  if (anchor !== undefined && anchor * 1000 > nowMs) throw invalidAnchor('must not be in the future')
  return anchor
}

const Bytes = (code?: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...(code !== undefined && { code }) })
const Time = Type.Integer({ minimum: 0, description: 'Unix seconds.' })
const MonthlyBytes = Bytes(invalidQuotaSize.code)

export const QuotaRow = closed({
  user_id: Type.String(),
  client_id: Type.String(),
  client_name: Type.String(),
  monthly_bytes: Bytes(),
  billing_anchor: Time,
  bytes_used: Bytes(),
  bytes_remaining: Bytes(),
  period_start: Time,
  period_end: Time,
  exhausted: Type.Boolean(),
  exhausted_at: Type.Union([Time, Type.Null()]),
  enforced: Type.Boolean({
    description: 'The agent of the client has this quota in force, as last heard from it.'
  }),
  created_at: Time,
  updated_at: Time
})
export type QuotaRow = Static<typeof QuotaRow>

export const SetBody = closed({
  ...Type.Partial(QuotaRow).properties, // ignored, so that a row can be sent back as it was read
  monthly_bytes: Type.Integer({ ...MonthlyBytes, description: 'Bytes in a calendar month, in plus out.' }),
  billing_anchor: Type.Optional(
    Type.Integer({
      minimum: 0,
      code: invalidBillingAnchor.code,
      description: 'Unix seconds, not in the future: periods begin at its day and time. Cannot be changed.'
    })
  )
})
export type SetBody = Static<typeof SetBody>

/** An entry of the document of `apply`; its client has an id or a name. */
export const DocumentBody = closed({
  user_id: Type.String(),
  client: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  monthly_bytes: SetBody.properties.monthly_bytes,
  billing_anchor: SetBody.properties.billing_anchor
})

export const ChangeBody = closed({
  monthly_bytes: Type.Optional(MonthlyBytes),
  clear_period_usage: Type.Optional(
    Type.Boolean({ description: 'Sets the usage of this period to 0; the period stays.' })
  )
})
export type ChangeBody = Static<typeof ChangeBody>

export const UserParams = closed({ user_id: Type.String() })
export const ClientParams = closed({ client_id: Type.String() })
export const PairParams = closed({ user_id: Type.String(), client_id: Type.String() })
export type PairParams = Static<typeof PairParams>
