// The time for which servers of this store have run: no clock that someone can set has a part in it. What is stored in
// this time keeps the time that remains over a restart. Servers of one database have it together: each keeps it every
// minute, with the time of the database, by whose clock the others know how long ago that was.
import type { EntityManager } from '@mikro-orm/sql'
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { timeOf } from '../../kernel/store/postgres/dialect.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import { Failures } from './entities.ts'

const rowId = 'running-time' // of the row that keeps the time
const saveMs = 60_000

export type RunningTime = ReturnType<typeof openRunningTime>

export function openRunningTime({ store, clock }: Pick<Kernel, 'store' | 'clock'>) {
  let offsetMs: number | null = null // this time minus the monotonic clock

  /** Goes on from the latest time in the table. */
  async function now(em: EntityManager): Promise<number> {
    if (offsetMs === null) {
      const [last] = await em.find(Failures, {}, { orderBy: { updatedAt: 'desc' }, limit: 1 })
      offsetMs ??= (last?.updatedAt ?? 0) - clock.monotonic()
    }
    return Math.floor(clock.monotonic() + offsetMs)
  }

  /** Returns the time of the servers that have kept it lately. A clock of the database that was set has no part in it. */
  async function peersNow(databaseMs: number, em: EntityManager): Promise<number> {
    const kept = await em.findOne(Failures, { id: rowId })
    const [keptMs = Number.NEGATIVE_INFINITY] = kept?.times ?? []
    const ageMs = databaseMs - keptMs
    return (kept?.updatedAt ?? 0) + (ageMs >= 0 && ageMs <= 2 * saveMs ? ageMs : 0)
  }

  /** Keeps the time, over a stop and for other servers, and goes on with theirs where that is later. */
  const save = (): Promise<void> =>
    store.change(async em => {
      const own = await now(em)
      const databaseMs = mayBeShared(em) ? await timeOf(em) : null
      const updatedAt = databaseMs === null ? own : Math.max(own, await peersNow(databaseMs, em))
      offsetMs = Math.max(offsetMs ?? 0, updatedAt - clock.monotonic())
      const times = databaseMs === null ? [] : [databaseMs]
      await em.upsert(Failures, { id: rowId, times, locks: 0, lockedUntil: 0, updatedAt })
    })

  return {
    now,
    save,
    async start(defer: (release: Release) => void): Promise<void> {
      defer(save)
      if (!(await store.read(async em => mayBeShared(em)))) return
      await save()
      defer(clock.every(saveMs, save))
    }
  }
}
