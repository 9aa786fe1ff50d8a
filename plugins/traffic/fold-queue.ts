import { setImmediate } from 'node:timers/promises'
import { earliest } from '../../kernel/base/clock.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import { foldSome } from './fold.ts'

export interface FoldQueue {
  /**
   * Adds everything that was committed before the call to the samples, in short transactions. If the store refuses, logs it
   * and resolves: the counts stay saved.
   */
  fold(): Promise<void>
}

interface Services extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly rules: Pick<Rules, 'shownIds'>
}

/** Calls that wait for a running fold share the next one. */
export function openFoldQueue({ store, clock, log, rules }: Services): FoldQueue {
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  async function run(): Promise<void> {
    next = null
    try {
      for (let isMore = await hasPending(); isMore; await setImmediate())
        isMore = await store.change(em => foldSome(rules, Math.floor(earliest(clock) / 1000), em))
    } catch (error) {
      log.warn('traffic.not_folded', `recent counts are not in the samples yet, retrying: ${String(error)}`)
    }
  }

  /** A read is cheaper than a change that finds nothing. */
  const hasPending = (): Promise<boolean> =>
    store.read(async em => (await em.execute('select 1 from traffic_pending limit 1')).length > 0)

  return {
    fold() {
      next ??= running = running.then(run)
      return next
    }
  }
}
