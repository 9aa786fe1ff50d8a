import { setTimeout as realPause } from 'node:timers/promises'
import type { Clock } from '../../../kernel/base/clock.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import type { Argon, HashPool } from '../password/hash-pool.ts'
import type { StepLimit } from './step-limit.ts'
import type { AddressLock, Attempt, Throttle } from './throttle.ts'

interface Deps {
  readonly clock: Clock
  readonly throttle: Throttle
  readonly stepLimit: StepLimit
  readonly hashPool: HashPool
}

/**
 * Makes one throttled attempt at a secret and returns the result of `verify`, which is null for a wrong secret. Throws
 * `rate_limited` or `busy`.
 */
export type Attempts = <T>(caller: Attempt, verify: (argon: Argon) => Promise<T | null>) => Promise<T | null>

/** Real time of each refusal during a lockout of the address: longer than a hash takes, even after a wait in the pool. */
const refusalMs = 1500

export function openAttempts({ clock, throttle, stepLimit, hashPool }: Deps, pause = realPause): Attempts {
  /** Refuses a known caller with a wrong secret like an unknown caller, so that nobody learns who is known. */
  async function refuse({ refusal }: AddressLock, since: number): Promise<never> {
    await pause(Math.max(since + refusalMs - clock.monotonic(), 0))
    throw refusal
  }

  /** Counts a wrong answer in the limit of the user. An error says nothing about the answer, so it does not count. */
  async function judgeStep<T>({ subject }: Attempt, verify: () => Promise<T | null>): Promise<T | null> {
    await stepLimit.take(subject)
    let isWrong = false
    try {
      const result = await verify()
      isWrong = result === null
      return result
    } finally {
      if (!isWrong) await stepLimit.refund(subject)
    }
  }

  return async (caller, verify) => {
    const since = clock.monotonic()
    const origin = { address: networkOf(caller.remoteAddr), subject: caller.subject }
    hashPool.refuseIfFull(origin)
    const locked = await throttle.check(caller)
    if (locked?.isKnown === false) return refuse(locked, since)
    const { lock, result } = await hashPool.run(async argon => {
      const lock = await throttle.admit(caller) // attempts ahead in the queue may have failed by now
      if (lock?.isKnown === false) return { lock, result: null }
      const result = await (caller.action === 'step' ? judgeStep(caller, () => verify(argon)) : verify(argon))
      await (result === null ? throttle.recordFailure(caller, lock) : throttle.clear(caller))
      return { lock, result }
    }, origin)
    return result === null && lock ? refuse(lock, since) : result
  }
}
