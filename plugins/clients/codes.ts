import { defineCode } from '../../kernel/base/errors.ts'

export const clientPending = defineCode('client_pending', 409, 5)
export const clientNotPending = defineCode('client_not_pending', 409, 5)
