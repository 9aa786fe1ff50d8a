import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** The authenticator app of a user. */
export const Totp = defineEntity({
  name: 'Totp',
  tableName: 'second_factor_totp',
  properties: {
    userId: p.string().length(32).primary(),
    secret: p.string().length(255).nullable(), // sealed; null until a code has confirmed the first secret
    pendingSecret: p.string().length(255).nullable(), // sealed; replaces `secret` when a code confirms it
    lastStep: p.bigint('number') // of the last code that was used; earlier and equal ones are refused
  }
})
export type Totp = InferEntity<typeof Totp>

/** A recovery code that was not used. */
export const RecoveryCode = defineEntity({
  name: 'RecoveryCode',
  tableName: 'second_factor_recovery_code',
  properties: {
    id: p.string().length(64).primary(), // SHA-256 of user and code
    userId: p.string().length(32).index('second_factor_recovery_code_user_id_index')
  }
})
