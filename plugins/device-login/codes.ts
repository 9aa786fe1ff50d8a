import { defineCode } from '../../kernel/base/errors.ts'

export const authorizationPending = defineCode('authorization_pending', 400, 3)
export const slowDown = defineCode('slow_down', 400, 3)
export const accessDenied = defineCode('access_denied', 400, 3)
export const expiredToken = defineCode('expired_token', 400, 3)
export const deviceRequestNotFound = defineCode('device_request_not_found', 404, 8)
