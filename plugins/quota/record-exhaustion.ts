// Adds journal entries when a quota is spent and when it reopens.
import type { EntityManager } from '@mikro-orm/sql'
import type { JournalEntry, Rules } from '../rules/exports.ts'
import type { Quota } from './entities.ts'
import { netUsage } from './usage.ts'

/** `before` is the stored quota and `after` the new one; null means none. */
export async function recordExhaustion(
  before: Quota | null,
  after: Quota | null,
  { rules, em }: { readonly rules: Pick<Rules, 'addJournalEntry'>; readonly em: EntityManager }
): Promise<void> {
  const quota = after ?? before
  if (!quota) return
  const { clientId, userId: owner } = quota
  const about = { clientId, owner }
  const isNewPeriod = before !== null && after !== null && before.periodStart !== after.periodStart
  const wasSpent = before?.exhaustedAt != null
  const isSpent = after?.exhaustedAt != null
  const add = (entry: Omit<JournalEntry, 'about' | 'kind'>) =>
    rules.addJournalEntry({ about, kind: 'quota', ...entry }, em)
  if (wasSpent && (isNewPeriod || !isSpent))
    await add({
      from: 'spent',
      to: 'open',
      cause: isNewPeriod ? 'new_period' : 'request',
      ...(isNewPeriod && after && { at: after.periodStart * 1000 })
    })
  if (after && isSpent && (isNewPeriod || !wasSpent))
    await add({
      from: 'open',
      to: 'spent',
      cause: 'used_up',
      details: { monthly_bytes: after.monthlyBytes, bytes_used: netUsage(after) }
    })
}
