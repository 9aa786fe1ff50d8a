import type { Clock } from '../../kernel/base/clock.ts'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import { deviceRequestNotFound, expiredToken } from './codes.ts'

const windowMs = 60_000
const maxKeys = 10_000 // users, or networks

/** Unknown codes of each user or network in the last minute, in the memory of this server. */
export interface TryLimit {
  /** Counts a try unless the code is known. Throws `rate_limited`. */
  trying<T>(key: string, work: () => Promise<T>): Promise<T>
}

export function openTryLimit(clock: Pick<Clock, 'monotonic'>, maxTries: number): TryLimit {
  const tries = new Map<string, readonly number[]>() // the least recent first
  const recent = (key: string): readonly number[] =>
    (tries.get(key) ?? []).filter(at => clock.monotonic() - at < windowMs)

  function set(key: string, times: readonly number[]): void {
    tries.delete(key)
    if (times.length > 0) tries.set(key, times)
    const [oldest] = tries.keys()
    if (tries.size > maxKeys && oldest !== undefined) tries.delete(oldest)
  }

  function take(key: string, now: number): void {
    const times = recent(key)
    const [first = now] = times
    if (times.length >= maxTries) {
      const secs = Math.ceil((first + windowMs - now) / 1000)
      throw new Fault(rateLimited, `${maxTries} unknown codes in a minute; try again in ${secs} s`, {
        details: { retry_after_secs: secs }
      })
    }
    set(key, [...times, now])
  }

  function takeBack(key: string, at: number): void {
    const times = recent(key)
    const found = times.lastIndexOf(at)
    set(key, found < 0 ? times : times.toSpliced(found, 1))
  }

  return {
    async trying(key, work) {
      const now = clock.monotonic()
      take(key, now) // before it is judged, so that tries at once count, too
      let isUnknown = false
      try {
        return await work()
      } catch (error) {
        isUnknown = error instanceof Fault && [deviceRequestNotFound, expiredToken].includes(error.errorCode)
        throw error
      } finally {
        if (!isUnknown) takeBack(key, now)
      }
    }
  }
}
