import { type Static, Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { ClientId, closed, UserId } from '../../kernel/http/schema.ts'

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

const size = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const Bytes = (description: string, example: number) =>
  Type.Integer({ ...size, description, examples: [example] })
const Time = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description: `${description} Unix seconds.`, examples: [example] })
const MonthlyBytes = Type.Integer({
  ...size,
  code: invalidQuotaSize.code,
  description: 'Bytes in a calendar month, in plus out.',
  examples: [500_000_000_000]
})

export const QuotaRow = closed(
  {
    user_id: UserId,
    client_id: ClientId,
    client_name: Type.String({ description: 'Name of the client.', examples: ['paris'] }),
    monthly_bytes: Bytes('Bytes in a calendar month, in plus out.', 500_000_000_000),
    billing_anchor: Time('Periods begin at its day and time.', 1_767_225_600),
    bytes_used: Bytes('Delivered in this period, in plus out.', 120_000_000_000),
    bytes_remaining: Bytes('Left in this period.', 380_000_000_000),
    period_start: Time('First second of this period.', 1_767_225_600),
    period_end: Time('First second of the next period.', 1_769_904_000),
    exhausted: Type.Boolean({
      description: 'No bytes are left: the rules of the user on the client forward nothing.',
      examples: [false]
    }),
    exhausted_at: Type.Union([Time('When it was exhausted.', 1_769_000_000), Type.Null()], {
      description: 'When it was exhausted, Unix seconds.',
      examples: [null]
    }),
    enforced: Type.Boolean({ description: 'Whether the agent enforces this quota, by its last answer.' }),
    created_at: Time('First set.', 1_767_225_600),
    updated_at: Time('Last changed.', 1_767_225_600)
  },
  { $id: 'Quota' }
)
export type QuotaRow = Static<typeof QuotaRow>

export const SetBody = closed(
  {
    ...Type.Partial(QuotaRow).properties, // ignored, so that callers can send a row back unchanged
    monthly_bytes: MonthlyBytes,
    billing_anchor: Type.Optional(
      Type.Integer({
        minimum: 0,
        code: invalidBillingAnchor.code,
        description: 'Unix seconds, not in the future: periods begin at its day and time. Cannot be changed.'
      })
    )
  },
  { examples: [{ monthly_bytes: 500_000_000_000 }] }
)
export type SetBody = Static<typeof SetBody>

/** An entry of the document of `apply`; its client has an id or a name. */
export const DocumentBody = closed({
  user_id: UserId,
  client: Type.Optional(Type.String({ description: 'client_id, or the name of one client.' })),
  client_id: Type.Optional(ClientId),
  monthly_bytes: SetBody.properties.monthly_bytes,
  billing_anchor: SetBody.properties.billing_anchor
})

export const ChangeBody = closed({
  monthly_bytes: Type.Optional(MonthlyBytes),
  clear_period_usage: Type.Optional(
    Type.Boolean({ description: 'Sets the usage of this period to 0; the period stays.', examples: [true] })
  )
})
export type ChangeBody = Static<typeof ChangeBody>

export const UserParams = closed({ user_id: UserId })
export const ClientParams = closed({ client_id: ClientId })
export const PairParams = closed({ user_id: UserId, client_id: ClientId })
export type PairParams = Static<typeof PairParams>
