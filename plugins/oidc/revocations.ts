// Runs on a restored store: identities that were removed since the backup stay removed.
import { revocationSlot } from '../../kernel/store/revocation.ts'

export const revocations = [
  revocationSlot.fill({
    table: 'oidc_identity',
    title: 'removed identities of',
    sql: `delete from oidc_identity where not exists
      (select 1 from old.oidc_identity o where o.id = oidc_identity.id)
      returning user_id as name`
  })
]
