import { defineCode } from '../../kernel/base/errors.ts'

export const invalidScopes = defineCode('validation.scopes', 400, 3)
export const credentialTooBroad = defineCode('credential_too_broad', 403, 5)
export const credentialNotFound = defineCode('credential_not_found', 404, 8)
export const credentialLifetime = defineCode('credential_lifetime', 422, 3)
