import { Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { defineMessage, defineRequest } from '../../kernel/wire/message.ts'

// These codes are sent on the control stream, where the HTTP status has no meaning.
export const enrollmentInvalid = defineCode('enrollment_invalid', 401, 4)
export const enrollmentExpired = defineCode('enrollment_expired', 401, 4)
export const enrollmentUsed = defineCode('enrollment_used', 401, 4)
export const failedPrecondition = defineCode('failed_precondition', 422, 6)

/** The errors of a redeem. */
export const redeemCodes = [enrollmentInvalid, enrollmentExpired, enrollmentUsed, failedPrecondition]

const proto = new URL('./enrollment.proto', import.meta.url)

export const Redeemed = defineMessage({
  name: 'sluice.enrollment.Redeemed',
  proto,
  body: Type.Object({
    client_id: Type.String({ maxLength: 32 }),
    client_name: Type.String({ maxLength: 255 }),
    server_endpoint: Type.String({ maxLength: 300 })
  })
})

/** An enrollment key begins with it, a one-time code does not. Secret scanners find leaked keys by it. */
export const enrollmentKeyPrefix = 'svck_'

/** Idempotent: until the code expires, a retry with the same hash gets the same response. */
export const Redeem = defineRequest({
  name: 'sluice.enrollment.Redeem',
  proto,
  body: Type.Object({
    code: Type.String({ maxLength: 64 }),
    token_hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    host_name: Type.Optional(Type.String({ maxLength: 255 }))
  }),
  response: Redeemed
})

/** The part of Welcome with Redeemed, for an agent that has lost the response to its redeem. */
export const welcomePart = 'enrollment'

export const messages = [Redeem, Redeemed]
