import { defineCode } from '../../kernel/base/errors.ts'

export const clientPending = defineCode('client_pending', 409, 5)
export const clientRevoked = defineCode('client_revoked', 409, 5)
export const clientInUse = defineCode('client_in_use', 409, 5)
export const clientNotPending = defineCode('client_not_pending', 409, 5)
