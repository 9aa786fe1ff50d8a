import { revocationSlot } from '../../kernel/store/revocation.ts'

export const deletedGrants = revocationSlot.fill({
  table: 'grants',
  title: 'deleted grants of',
  sql: `delete from grants where not exists (select 1 from old.grants o where o.id = grants.id)
    returning user_id as name`
})
