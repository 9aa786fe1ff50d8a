import type { Clock } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { objectKey } from '../../kernel/wire/control.ts'
import type { SavedObject } from './object-store.ts'

type ObjectRef = Pick<SavedObject, 'kind' | 'id'>

/** One timer for each failed object: 1 s after the failure, then 2 s, 4 s ... 60 s. */
export interface RetryTimers {
  start(object: ObjectRef, retries: number, retry: () => void): void
  cancel(object: ObjectRef): void
  cancelAll(): void
}

export function openRetryTimers(clock: Clock): RetryTimers {
  const timers = new Map<string, Release>()

  return {
    start(object, retries, retry) {
      timers.set(objectKey(object), clock.after(Math.min(1000 * 2 ** retries, 60_000), retry))
    },
    cancel(object) {
      void timers.get(objectKey(object))?.()
      timers.delete(objectKey(object))
    },
    cancelAll() {
      for (const release of timers.values()) void release()
      timers.clear()
    }
  }
}
