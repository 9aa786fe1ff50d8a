import { availableParallelism } from 'node:os'
import { hash, needsRehash, verify } from 'argon2'
import { Fault } from '../../kernel/base/errors.ts'
import { busy } from './codes.ts'

const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Dummy hash at the current cost, so that unknown users take as long as known ones. */
const dummyHash = [
  '$argon2id$v=19',
  `m=${cost.memoryCost},p=${cost.parallelism},t=${cost.timeCost}`,
  Buffer.alloc(16).toString('base64').replace(/=+$/, ''),
  Buffer.alloc(32).toString('base64').replace(/=+$/, '')
].join('$')

/** Argon2id. Available only inside `HashPool.run`. */
const argon = {
  hash: (password: string): Promise<string> => hash(password, cost),
  /** A null hash is compared with the dummy hash. */
  verify: (storedHash: string | null, password: string): Promise<boolean> =>
    verify(storedHash ?? dummyHash, password),
  isOutdated: (storedHash: string): boolean => needsRehash(storedHash, cost)
}
export type Argon = typeof argon

export type HashPool = ReturnType<typeof openHashPool>

/** One core is left for the event loop: a flood of guesses must not slow down every other request. */
const defaultRunning = Math.min(2, Math.max(1, availableParallelism() - 1))

const maxAccepted = 34

/** Each hash takes 19 MiB and a core: one or two run at once, some wait, all others are refused with `busy`. */
export function openHashPool(maxRunning = defaultRunning, maxWaiting = maxAccepted - maxRunning) {
  const waiting: (() => void)[] = []
  let free = maxRunning

  /** Throws `busy` if the queue is full. Callers use it before they query the store, so that a flood costs little. */
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
