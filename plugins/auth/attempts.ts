import type { Argon, HashPool } from './hash-pool.ts'
import type { Attempt, Throttle } from './throttle.ts'

interface Deps {
  readonly throttle: Throttle
  readonly hashPool: HashPool
}

export type Attempts = ReturnType<typeof openAttempts>

/** Returns the function that makes one throttled attempt at a secret. `verify` returns null for a wrong secret. */
export function openAttempts({ throttle, hashPool }: Deps) {
  return async function attempt<T>(
    caller: Attempt,
    verify: (argon: Argon) => Promise<T | null>
  ): Promise<T | null> {
    hashPool.refuseIfFull()
    await throttle.check(caller)
    return hashPool.run(async argon => {
      await throttle.admit(caller) // attempts ahead in the queue may have failed meanwhile
      const result = await verify(argon)
      await (result === null ? throttle.recordFailure(caller) : throttle.clear(caller))
      return result
    })
  }
}
