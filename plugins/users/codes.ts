import { defineCode } from '../../kernel/base/errors.ts'

export const invalidUserId = defineCode('invalid_user_id', 422, 3)
export const reservedUserId = defineCode('reserved_user_id', 422, 3)
export const invalidDisplayName = defineCode('invalid_display_name', 422, 3)
export const invalidRole = defineCode('invalid_role', 422, 3)
export const userAlreadyExists = defineCode('user_already_exists', 409, 2)
export const serviceAccount = defineCode('service_account', 422, 3)
export const lastSuperadmin = defineCode('last_superadmin', 409, 2)
export const managedByProvider = defineCode('managed_by_provider', 409, 5)
export const cannotRemoveSelf = defineCode('cannot_remove_self', 409, 2)
