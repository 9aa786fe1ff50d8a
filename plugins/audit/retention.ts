// Deletes entries that are too old or too many; denials go first.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import type { Kernel } from '../../kernel/plugin.ts'
import { Entry } from './entities.ts'

export const keys = Type.Object({
  audit_retention_days: Type.Integer({
    minimum: 1,
    maximum: 3650,
    default: 90,
    description: 'Older entries are deleted.'
  }),
  audit_max_rows: Type.Integer({
    minimum: 1,
    maximum: 100_000_000,
    default: 1_000_000,
    description: 'Beyond this, entries are deleted: denials first, then the oldest.'
  })
})

const dayMs = 24 * 3_600_000
const rowsPerChange = 1000 // short transactions, so that other writes and requests run in between
const runsPerCount = 60 // counting a million rows takes about 20 ms

export function openRetention({ store, clock, log, config }: Kernel<typeof keys>) {
  let count = 0 // entries; counted anew each `runsPerCount`
  let runs = 0
  let running: Promise<void> | null = null
  let isStopped = false

  /** Returns how many were deleted. */
  async function deleteOldest(where: string, values: readonly number[], max: number): Promise<number> {
    let deleted = 0
    for (let hasMore = true; hasMore && deleted < max && !isStopped; ) {
      const limit = Math.min(rowsPerChange, max - deleted)
      const affected = await store.change(em => deleteBatch(where, [...values, limit], em))
      deleted += affected
      hasMore = affected === limit
      await setImmediate() // transactions of the embedded store do not yield to the event loop
    }
    count -= deleted
    return deleted
  }

  async function run(): Promise<void> {
    try {
      const before = clock.now() - config.audit_retention_days * dayMs
      await deleteOldest('where timestamp < ?', [before], Number.POSITIVE_INFINITY)
      if (runs++ % runsPerCount === 0) count = await store.read(em => em.count(Entry, {}))
      const surplus = count - config.audit_max_rows
      if (surplus <= 0) return
      const denials = await deleteOldest(`where outcome = 'deny'`, [], surplus)
      if (denials < surplus) await deleteOldest('', [], surplus - denials)
    } catch (error) {
      log.warn('audit.not_tidied', `old entries were not deleted, retrying in a minute: ${String(error)}`)
    }
  }

  return {
    /** Deletes entries that are too old or beyond the maximum. One run at a time. */
    tidy(): Promise<void> {
      running ??= run().finally(() => {
        running = null
      })
      return running
    },
    /** Ends a run after its present batch; the next start continues. */
    async stop(): Promise<void> {
      isStopped = true
      await running
    },
    /** Counts an entry: call it for each one that is written. */
    countEntry: () => void count++
  }
}

async function deleteBatch(where: string, values: readonly number[], em: EntityManager): Promise<number> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `delete from audit_entry where id in
       (select id from audit_entry ${where} order by timestamp, id limit ?)`,
    [...values],
    'run'
  )
  return affectedRows
}
