import { availableParallelism } from 'node:os'
import { hash, needsRehash, verify } from 'argon2'
import { Fault } from '../../kernel/base/errors.ts'
import { busy } from './codes.ts'

const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Dummy hash at the current cost, so that a login takes as long for an unknown user. */
const dummyHash = [
  '$argon2id$v=19',
  `m=${cost.memoryCost},p=${cost.parallelism},t=${cost.timeCost}`,
  Buffer.alloc(16).toString('base64').replace(/=+$/, ''),
  Buffer.alloc(32).toString('base64').replace(/=+$/, '')
].join('$')

/** Argon2id. Use it only inside `HashPool.run`. */
const argon = {
  hash: (password: string): Promise<string> => hash(password, cost),
  /** Compares with the dummy hash if `storedHash` is null. */
  verify: (storedHash: string | null, password: string): Promise<boolean> =>
    verify(storedHash ?? dummyHash, password),
  isOutdated: (storedHash: string): boolean => needsRehash(storedHash, cost)
}
export type Argon = typeof argon

/** Limits concurrent hashes: each takes 19 MiB and a core. One or two run at once, some wait, others get `busy`. */
export interface HashPool {
  /** Runs `work` when it is its turn. Throws `busy` if the queue is full. */
  run<T>(work: (argon: Argon) => Promise<T>): Promise<T>
  /** Throws `busy` if the queue is full. Call it before any query, so that a flood costs little. */
  refuseIfFull(): void
}

/** Leaves one core for the event loop, so that a flood of guesses does not slow down other requests. */
const defaultRunning = Math.min(2, Math.max(1, availableParallelism() - 1))

const maxAccepted = 34

export function openHashPool(maxRunning = defaultRunning, maxWaiting = maxAccepted - maxRunning): HashPool {
  const waiting: (() => void)[] = []
  let free = maxRunning

  function refuseIfFull(): void {
    if (free > 0 || waiting.length < maxWaiting) return
    throw new Fault(busy, 'too many passwords are being checked; try again in a second', {
      details: { retry_after_secs: 1 }
    })
  }

  async function acquire(): Promise<void> {
    refuseIfFull()
    if (free > 0) {
      free--
      return
    }
    await new Promise<void>(resolve => waiting.push(resolve))
  }

  function release(): void {
    const next = waiting.shift()
    if (next) next()
    else free++
  }

  async function run<T>(work: (argon: Argon) => Promise<T>): Promise<T> {
    await acquire()
    try {
      return await work(argon)
    } finally {
      release()
    }
  }

  return { run, refuseIfFull }
}
