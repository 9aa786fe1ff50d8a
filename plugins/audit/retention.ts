// Deletes entries that are too old or too many. Beyond the maximum, denials without an authenticated principal go first,
// then the entries of the actors that have most: nobody can push out what others did.
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
    description:
      'Beyond this, entries are deleted: denials without a user first, then those of the users that have most.'
  })
})

const dayMs = 24 * 3_600_000
const rowsPerChange = 1000 // short transactions, so that other writes and requests run in between
const runsPerCount = 60 // counting a million rows of one actor takes about 30 ms

type Actor = string | null

export function openRetention({ store, clock, log, config }: Kernel<typeof keys>) {
  const counts = new Map<Actor, number>() // entries by actor; counted anew each `runsPerCount`
  let runs = 0
  let running: Promise<void> | null = null
  let isStopped = false

  const total = (): number => counts.values().reduce((sum, count) => sum + count, 0)
  const countEntry = (actor: Actor, by: number): void => void counts.set(actor, (counts.get(actor) ?? 0) + by)

  async function countAll(): Promise<void> {
    const known = await store.read(em => em.execute<{ actor: string }[]>(knownActors))
    counts.clear()
    for (const actor of [null, ...known.map(({ actor }) => actor)]) {
      countEntry(actor, await store.read(em => em.count(Entry, { actor })))
      await setImmediate()
    }
  }

  /** Deletes the oldest matching entries, at most `max`; returns how many. */
  async function deleteOldest({ sql, values }: Condition, max: number): Promise<number> {
    let deleted = 0
    for (let hasMore = true; hasMore && deleted < max && !isStopped; ) {
      const limit = Math.min(rowsPerChange, max - deleted)
      const actors = await store.change(em => deleteBatch(sql, [...values, limit], em))
      for (const actor of actors) countEntry(actor, -1)
      deleted += actors.length
      hasMore = actors.length === limit
      await setImmediate() // transactions of the embedded store do not yield to the event loop
    }
    return deleted
  }

  /** Deletes entries of one actor: its denials, then its oldest. */
  async function deleteOf(actor: Actor, max: number): Promise<void> {
    const denials = await deleteOldest(entriesOf(actor, 'deny'), max)
    if (denials < max) await deleteOldest(entriesOf(actor, 'allow'), max - denials)
  }

  async function run(): Promise<void> {
    try {
      const before = clock.now() - config.audit_retention_days * dayMs
      await deleteOldest({ sql: 'timestamp < ?', values: [before] }, Number.POSITIVE_INFINITY)
      if (runs++ % runsPerCount === 0) await countAll()
      const surplus = total() - config.audit_max_rows
      if (surplus <= 0) return
      await deleteOldest(entriesOf(null, 'deny'), surplus)
      const share = shareOf(counts.values(), config.audit_max_rows)
      for (const [actor, count] of [...counts]) if (count > share) await deleteOf(actor, count - share)
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
    countEntry: ({ actor = null }: Entry): void => countEntry(actor, 1)
  }
}

/** Returns the most entries that each may keep, so that all together keep at most `max`. */
function shareOf(counts: Iterable<number>, max: number): number {
  const ascending = [...counts].sort((a, b) => a - b)
  let left = max
  for (const [index, count] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index))
    if (count > share) return share
    left -= count
  }
  return max
}

interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

const entriesOf = (actor: Actor, outcome: Entry['outcome']): Condition => ({
  sql: `actor ${actor === null ? 'is null' : '= ?'} and outcome = ?`,
  values: [...(actor === null ? [] : [actor]), outcome]
})

/** Each step looks up the next actor in the index: reading all entries would take long. */
const knownActors = `with recursive known (actor) as (
    select min(actor) from audit_entry union all
    select (select min(actor) from audit_entry where actor > known.actor) from known where known.actor is not null)
  select actor from known where actor is not null`

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
