// Deletes entries that are too old or too many. Beyond the maximum, denials without an authenticated principal go first,
// then the entries of the actors that have most: nobody can push out what others did.
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
      'Beyond this, entries are deleted: denials without a user first, then those of the users that have most.'
  })
})

const dayMs = 24 * 3_600_000
const rowsPerChange = 1000 // short transactions, so that other writes and requests run in between
const runsPerCount = 60

export function openRetention({ store, clock, log, config, control }: Kernel<typeof keys>) {
  const counts = openEntryCounts({ store })
  let runs = 0
  let running: Promise<void> | null = null
  let isStopped = false

  /** Deletes the oldest matching entries, at most `max`; returns how many. */
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

  /** Deletes entries of one actor: its denials, then its oldest. */
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
      if (surplusNow() > 0 && !isCounted && !control.servers.isAlone()) await counts.load() // others delete, too
      const surplus = surplusNow()
      if (surplus <= 0) return
      await deleteOldest(actorEntries(null, 'deny'), surplus)
      for (const [actor, excess] of counts.excess(config.audit_max_rows)) await deleteExcess(actor, excess)
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
    countEntry: ({ actor = null }: Entry): void => counts.add(actor, 1)
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

/** Returns the actors of the deleted entries. */
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
