// The time for which servers of this store have run: no clock that someone can set has a part in it. What is stored in
// this time keeps the time that remains over a restart.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { Failures } from './entities.ts'

const markId = 'running-time' // of the row that keeps the time at an orderly stop

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

  return {
    now,
    /** Keeps the time over a stop. */
    save: (): Promise<void> =>
      store.change(async em => {
        const updatedAt = await now(em)
        await em.upsert(Failures, { id: markId, times: [], locks: 0, lockedUntil: 0, updatedAt })
      })
  }
}
