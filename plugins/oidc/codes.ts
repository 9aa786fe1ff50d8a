import { defineCode } from '../../kernel/base/errors.ts'

export const invalidReturnTo = defineCode('validation.return_to', 400, 3)
export const invalidLogoutToken = defineCode('validation.logout_token', 400, 3)
export const stateInvalid = defineCode('oidc_state_invalid', 401, 4)
export const denied = defineCode('oidc_denied', 401, 4)
export const tokenInvalid = defineCode('oidc_token_invalid', 401, 4)
export const groupsMissing = defineCode('oidc_groups_missing', 401, 4)
export const notAllowed = defineCode('oidc_not_allowed', 401, 4)
export const userUnknown = defineCode('oidc_user_unknown', 401, 4)
export const userConflict = defineCode('oidc_user_conflict', 401, 4)
export const identityTaken = defineCode('identity_taken', 409, 5)
export const identityNotFound = defineCode('identity_not_found', 404, 8)
export const providerUnavailable = defineCode('provider_unavailable', 503, 6)
