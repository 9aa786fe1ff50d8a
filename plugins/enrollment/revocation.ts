import { revocationSlot } from '../../kernel/store/revocation.ts'

export const unusedCodes = revocationSlot.fill({
  table: 'enrollment',
  sql: 'delete from enrollment where used_at is null',
  isUnconditional: true
})
