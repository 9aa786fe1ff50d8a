// Deletes old and surplus entries. Beyond the maximum, it first deletes denials without an authenticated principal, then
// entries of the actors with the most, so that nobody can push out the entries of others.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { earliest } from '../../kernel/base/clock.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Entry } from './entities.ts'
import { type Actor, openEntryCounts } from './entry-counts.ts'

export const keys = Type.Object({
  audit_retention_days: Type.Integer({
    minimum: 1,
    maximum: 3650,
    default: 90,
    hot: true,
    description: 'Older entries are deleted.'
  }),
  audit_max_rows: Type.Integer({
    minimum: 1,
    maximum: 100_000_000,
    default: 1_000_000,
    hot: true,
    description:
      'Beyond this, entries are deleted: first denials without a user, then entries of the users with the most.'
  })
})

const dayMs = 24 * 3_600_000
const rowsPerChange = 1000 // short transactions, so that other writes and requests run in between
const runsPerCount = 60

export interface Retention {
  /** Deletes old and surplus entries. Concurrent calls share one run. */
  tidy(): Promise<void>
  /** Ends a run after its current batch. */
  stop(): Promise<void>
  /** Call it for each entry that is written. */
  countEntry(entry: Entry): void
}

export function openRetention({ store, clock, log, config, control }: Kernel<typeof keys>): Retention {
  const counts = openEntryCounts({ store })
  let runs = 0
  let running: Promise<void> | null = null
  let isStopped = false

  /** Deletes the oldest matching entries, at most `max`; returns their number. */
  async function deleteOldest({ sql, values }: Condition, max: number): Promise<number> {
    let deleted = 0
    for (let hasMore = true; hasMore && deleted < max && !isStopped; ) {
      const limit = Math.min(rowsPerChange, max - deleted)
      const actors = await store.change(em => deleteBatch(sql, [...values, limit], em))
      for (const actor of actors) counts.add(actor, -1)
      deleted += actors.length
      hasMore = actors.length === limit
      await setImmediate() // transactions of the embedded store do not yield to the event loop
    }
    return deleted
  }

  /** Deletes entries of one actor: first its denials, then its oldest. */
  async function deleteExcess(actor: Actor, max: number): Promise<void> {
    const denials = await deleteOldest(actorEntries(actor, 'deny'), max)
    if (denials < max) await deleteOldest(actorEntries(actor, 'allow'), max - denials)
  }

  async function run(): Promise<void> {
    try {
      const before = earliest(clock) - config.audit_retention_days * dayMs
      await deleteOldest({ sql: 'timestamp < ?', values: [before] }, Number.POSITIVE_INFINITY)
      const isCounted = runs++ % runsPerCount === 0
      if (isCounted) await counts.load()
      const surplusNow = (): number => counts.total() - config.audit_max_rows
      if (surplusNow() > 0 && !isCounted && !control.servers.isAlone()) await counts.load() // peer servers also delete
      const surplus = surplusNow()
      if (surplus <= 0) return
      await deleteOldest(actorEntries(null, 'deny'), surplus)
      for (const [actor, excess] of counts.excess(config.audit_max_rows)) await deleteExcess(actor, excess)
    } catch (error) {
      log.warn('audit.not_tidied', `could not delete old entries, retrying in a minute: ${String(error)}`)
    }
  }

  return {
    tidy() {
      running ??= run().finally(() => {
        running = null
      })
      return running
    },
    async stop() {
      isStopped = true
      await running
    },
    countEntry: ({ actor = null }) => counts.add(actor, 1)
  }
}

interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

const actorEntries = (actor: Actor, outcome: Entry['outcome']): Condition => ({
  sql: `actor ${actor === null ? 'is null' : '= ?'} and outcome = ?`,
  values: [...(actor === null ? [] : [actor]), outcome]
})

/** Returns the actor of each deleted entry. */
async function deleteBatch(
  where: string,
  values: readonly (string | number)[],
  em: EntityManager
): Promise<Actor[]> {
  const deleted = await em.execute<{ actor: Actor }[]>(
    `delete from audit_entry where id in
       (select id from audit_entry where ${where} order by timestamp, id limit ?) returning actor`,
    [...values]
  )
  return deleted.map(({ actor }) => actor)
}
