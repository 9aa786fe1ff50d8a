import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import type { Rules } from '../rules/exports.ts'
import type { AfterCommit, CommittedBytes } from '../stats/exports.ts'
import { Quota } from './entities.ts'
import { notifyLevels } from './levels.ts'
import { recordExhaustion } from './record-exhaustion.ts'
import { rollOver, withCommitted } from './usage.ts'

interface Services extends Pick<Kernel, 'clock' | 'log' | 'filled'> {
  readonly rules: Pick<Rules, 'addJournalEntry'>
}

/** Fills `stats.committed`: adds the bytes to the quotas of their owners. */
export const openUsageSink =
  ({ clock, log, filled, rules }: Services) =>
  async (committed: readonly CommittedBytes[], em: EntityManager): Promise<AfterCommit[]> => {
    const nowMs = clock.now()
    const afterCommit: AfterCommit[] = []
    const spent = Map.groupBy(committed, ({ owner, clientId }) => `${owner} ${clientId}`)
    for (const quota of await loadQuotas(
      [...spent.values()].flatMap(([first]) => first ?? []),
      em
    )) {
      const { userId, clientId } = quota
      const before = rollOver(quota, nowMs)
      const counted = withCommitted(before, spent.get(`${userId} ${clientId}`) ?? [], nowMs)
      const after = await notifyLevels(counted, { nowMs, filled, log }, em)
      const { periodStart, used, credit, exhaustedAt, levelNotified } = after
      const usage = { periodStart, used, credit, exhaustedAt, levelNotified }
      await em.nativeUpdate(Quota, { userId, clientId }, usage)
      await recordExhaustion(quota, after, { rules, em })
      if (before.exhaustedAt != null || exhaustedAt == null) continue
      const fields = { user: userId, client: clientId }
      afterCommit.push(() =>
        log.info('traffic_quota.exhausted', 'the quota of a user is used up for this month', fields)
      )
    }
    return afterCommit
  }

async function loadQuotas(committed: readonly CommittedBytes[], em: EntityManager): Promise<Quota[]> {
  const found: Quota[] = []
  for (const some of rowBatches(committed, 2)) {
    const $or = some.map(({ owner: userId, clientId }) => ({ userId, clientId }))
    found.push(...(await em.find(Quota, { $or })))
  }
  return found
}
