import type { Argon, HashPool } from './hash-pool.ts'
import type { Attempt, Throttle } from './throttle.ts'

interface Deps {
  readonly throttle: Throttle
  readonly turn: HashPool
}

export type Attempts = ReturnType<typeof openAttempts>

/** One try at a secret. `judge` answers null where it was wrong. */
export function openAttempts({ throttle, turn }: Deps) {
  return async function attempt<T>(
    who: Attempt,
    judge: (argon: Argon) => Promise<T | null>
  ): Promise<T | null> {
    turn.refuseFull()
    await throttle.look(who)
    return turn(async argon => {
      await throttle.enter(who) // again: those ahead in the queue may have failed meanwhile
      const found = await judge(argon)
      await (found === null ? throttle.fail(who) : throttle.forgive(who))
      return found
    })
  }
}
