// A clock that advances only while a server of this store runs, so that setting a system clock does not affect it. Times
// stored in it have the same time left after a restart. Peer servers share it. Each stores its value every minute next to
// the time of the database, so that its peers can compute the age of that value.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, storeUnavailable } from '../../../kernel/base/errors.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { timeOf } from '../../../kernel/store/postgres/dialect.ts'
import { mayBeShared } from '../../../kernel/store/sql/database.ts'
import { Failures } from '../entities.ts'

const timeKey = 'running-time' // the row that stores the time
const saveMs = 60_000

export interface RunningTime {
  /** Returns the time in ms. The first call continues from the latest time in the table. */
  now(em: EntityManager): Promise<number>
  /** Stores the time for the next start and for peer servers, and adopts the peers' time if it is later. */
  save(): Promise<void>
  /** Saves the time at the stop, and every minute if the database has peer servers. */
  start(defer: (release: Release) => void): Promise<void>
}

/** Allows a stop on a full disk: the next start continues from the time that was stored before. The store has logged it. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof Fault && error.errorCode === storeUnavailable)) throw error
}

export function openRunningTime({ store, clock }: Pick<Kernel, 'store' | 'clock'>): RunningTime {
  let offsetMs: number | null = null // this time minus the monotonic clock

  async function now(em: EntityManager): Promise<number> {
    if (offsetMs === null) {
      const [last] = await em.find(Failures, {}, { orderBy: { updatedAt: 'desc' }, limit: 1 })
      offsetMs ??= (last?.updatedAt ?? 0) - clock.monotonic()
    }
    return Math.floor(clock.monotonic() + offsetMs)
  }

  /** Returns the time that a server saved last, plus its age. Ignores an age that shows that the database's clock was set. */
  async function peersNow(databaseMs: number, em: EntityManager): Promise<number> {
    const saved = await em.findOne(Failures, { id: timeKey })
    const [savedMs = Number.NEGATIVE_INFINITY] = saved?.times ?? []
    const ageMs = databaseMs - savedMs
    return (saved?.updatedAt ?? 0) + (ageMs >= 0 && ageMs <= 2 * saveMs ? ageMs : 0)
  }

  const save = (): Promise<void> =>
    store.change(async em => {
      const own = await now(em)
      const databaseMs = mayBeShared(em) ? await timeOf(em) : null
      const updatedAt = databaseMs === null ? own : Math.max(own, await peersNow(databaseMs, em))
      offsetMs = Math.max(offsetMs ?? 0, updatedAt - clock.monotonic())
      const times = databaseMs === null ? [] : [databaseMs]
      await em.upsert(Failures, { id: timeKey, times, locks: 0, lockedUntil: 0, updatedAt })
    })

  return {
    now,
    save,
    async start(defer) {
      defer(() => save().catch(ignoreUnavailable))
      if (!(await store.read(async em => mayBeShared(em)))) return
      await save()
      defer(clock.every(saveMs, save))
    }
  }
}
