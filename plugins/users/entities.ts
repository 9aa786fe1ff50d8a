import { defineEntity, p } from '@mikro-orm/core'

/** Says who gives a user the role, if it is not given by hand. */
export const RoleSource = defineEntity({
  name: 'UserRoleSource',
  tableName: 'users_role_source',
  properties: {
    userId: p.string().length(32).primary(),
    source: p.string().length(40) // 'oidc:corp'
  }
})
