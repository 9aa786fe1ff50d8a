import type { Argon, HashPool } from './hash-pool.ts'
import type { Attempt, Throttle } from './throttle.ts'

interface Deps {
  readonly throttle: Throttle
  readonly hashPool: HashPool
}

/**
 * Makes one throttled attempt at a secret and returns the result of `verify`, which is null for a wrong secret. Throws
 * `rate_limited` or `busy`.
 */
export type Attempts = <T>(caller: Attempt, verify: (argon: Argon) => Promise<T | null>) => Promise<T | null>

export function openAttempts({ throttle, hashPool }: Deps): Attempts {
  return async (caller, verify) => {
    hashPool.refuseIfFull()
    await throttle.check(caller)
    return hashPool.run(async argon => {
      await throttle.admit(caller) // attempts ahead in the queue may have failed by now
      const result = await verify(argon)
      await (result === null ? throttle.recordFailure(caller) : throttle.clear(caller))
      return result
    })
  }
}
