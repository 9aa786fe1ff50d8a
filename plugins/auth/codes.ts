import { defineCode } from '../../kernel/base/errors.ts'

export const invalidLogin = defineCode('invalid_login', 401, 4)
export const setupTokenRequired = defineCode('setup_token_required', 401, 4)
export const setupTokenInvalid = defineCode('setup_token_invalid', 401, 4)
export const alreadyBootstrapped = defineCode('already_bootstrapped', 409, 2)
export const passwordTooShort = defineCode('password_too_short', 422, 3)
export const passwordTooLong = defineCode('password_too_long', 422, 3)
export const passwordMismatch = defineCode('password_mismatch', 422, 3)
export const passwordUnchanged = defineCode('password_unchanged', 422, 3)
export const initialPasswordRequired = defineCode('initial_password_required', 422, 3)
export const invalidPasswordReset = defineCode('invalid_password_reset', 422, 3)
export const sessionNotFound = defineCode('session_not_found', 404, 8)
export const busy = defineCode('busy', 503, 6)
