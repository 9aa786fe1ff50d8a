// Runs on a restored store: adopts passwords that changed since the backup, and ends all sessions.
import { revocationSlot } from '../../kernel/store/revocation.ts'

export const revocations = [
  revocationSlot.fill({
    table: 'auth_password',
    title: 'changed passwords of',
    sql: `update auth_password set (hash, change_required, changed_at, expires_at) =
      (select hash, change_required, changed_at, expires_at from old.auth_password o
        where o.user_id = auth_password.user_id)
      where exists (select 1 from old.auth_password o
        where o.user_id = auth_password.user_id and o.hash <> auth_password.hash)
      returning user_id as name`
  }),
  revocationSlot.fill({ table: 'auth_session', sql: 'delete from auth_session', isUnconditional: true }),
  revocationSlot.fill({ table: 'auth_ticket', sql: 'delete from auth_ticket', isUnconditional: true })
]
