// Runs on a restored store: factors that were removed since the backup stay removed, and used codes stay used. An app that
// was replaced since keeps its new secret, so that the old one does not work again.
import { revocationSlot } from '../../kernel/store/revocation.ts'

export const revocations = [
  revocationSlot.fill({
    table: 'second_factor_totp',
    sql: `update second_factor_totp set (secret, pending_secret, last_step) =
      (select secret, pending_secret, last_step from old.second_factor_totp o
        where o.user_id = second_factor_totp.user_id)
      where exists (select 1 from old.second_factor_totp o where o.user_id = second_factor_totp.user_id)`
  }),
  revocationSlot.fill({
    table: 'second_factor_totp',
    title: 'removed authenticator apps of',
    sql: `delete from second_factor_totp where not exists
      (select 1 from old.second_factor_totp o where o.user_id = second_factor_totp.user_id)
      returning user_id as name`
  }),
  revocationSlot.fill({
    table: 'second_factor_recovery_code',
    sql: `delete from second_factor_recovery_code where not exists
      (select 1 from old.second_factor_recovery_code o where o.id = second_factor_recovery_code.id)`
  })
]
