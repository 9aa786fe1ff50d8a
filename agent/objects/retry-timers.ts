import type { Clock } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { objectKey } from '../../kernel/wire/control.ts'
import type { SavedObject } from './object-store.ts'

type ObjectRef = Pick<SavedObject, 'kind' | 'id'>

/** One timer for each failed object: 1 s after the failure, then 2 s, 4 s ... 60 s. */
export function openRetryTimers(clock: Clock) {
  const timers = new Map<string, Release>()

  function cancel(object: ObjectRef): void {
    void timers.get(objectKey(object))?.()
    timers.delete(objectKey(object))
  }

  return {
    start(object: ObjectRef, retries: number, retry: () => void): void {
      timers.set(objectKey(object), clock.after(Math.min(1000 * 2 ** retries, 60_000), retry))
    },
    cancel,
    cancelAll(): void {
      for (const release of timers.values()) void release()
      timers.clear()
    }
  }
}
