import { availableParallelism } from 'node:os'
import { hash, needsRehash, verify } from 'argon2'
import { Fault } from '../../../kernel/base/errors.ts'
import { busy } from '../codes.ts'

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

/** The origin of work in the pool. */
interface HashOrigin {
  readonly address: string // the network of the caller; '' for work of the server and of administrators
  readonly subject: string // the user id, as submitted
}

/**
 * Limits concurrent hashes: each takes 19 MiB and a core. One or two run at once, some wait, others get `busy`. When the
 * queue is full, the latest of the address or subject with the most makes room for one with fewer.
 */
export interface HashPool {
  /** Runs `work` when it is its turn. Throws `busy` if the queue is full, or if it had to make room. */
  run<T>(work: (argon: Argon) => Promise<T>, origin?: HashOrigin): Promise<T>
  /** Throws `busy` if `run` would. Call it before any query, so that a flood costs little. */
  refuseIfFull(origin?: HashOrigin): void
}

/** Leaves one core for the event loop, so that a flood of guesses does not slow down other requests. */
const defaultRunning = Math.min(2, Math.max(1, availableParallelism() - 1))

const maxAccepted = 34
const server: HashOrigin = { address: '', subject: '' }

interface Waiting extends HashOrigin {
  readonly start: () => void
  readonly refuse: (reason: Fault) => void
}

export function openHashPool(maxRunning = defaultRunning, maxWaiting = maxAccepted - maxRunning): HashPool {
  const waiting: Waiting[] = []
  let free = maxRunning

  /** Returns who must make room for `origin`: null if the queue has room, undefined if nobody. */
  const findSurplus = (origin: HashOrigin): Waiting | null | undefined =>
    free > 0 || waiting.length < maxWaiting
      ? null
      : (latestOfMost(waiting, 'address', origin) ?? latestOfMost(waiting, 'subject', origin))

  function refuseIfFull(origin = server): void {
    if (findSurplus(origin) === undefined) throw busyFault()
  }

  async function acquire(origin: HashOrigin): Promise<void> {
    refuseIfFull(origin)
    if (free > 0) {
      free--
      return
    }
    const surplus = findSurplus(origin)
    if (surplus) {
      waiting.splice(waiting.indexOf(surplus), 1)
      surplus.refuse(busyFault())
    }
    await new Promise<void>((start, refuse) => waiting.push({ ...origin, start, refuse }))
  }

  function release(): void {
    const next = waiting.shift()
    if (next) next.start()
    else free++
  }

  async function run<T>(work: (argon: Argon) => Promise<T>, origin = server): Promise<T> {
    await acquire(origin)
    try {
      return await work(argon)
    } finally {
      release()
    }
  }

  return { run, refuseIfFull }
}

const busyFault = (): Fault =>
  new Fault(busy, 'too many passwords are being checked; try again in a second', {
    details: { retry_after_secs: 1 }
  })

/** Returns the latest of the group with the most, if `origin` would still have fewer with one more; else undefined. */
function latestOfMost(
  waiting: readonly Waiting[],
  by: keyof HashOrigin,
  origin: HashOrigin
): Waiting | undefined {
  const groups = Map.groupBy(waiting, one => one[by])
  const own = groups.get(origin[by])?.length ?? 0
  const [most = []] = [...groups.values()].sort((a, b) => b.length - a.length)
  return own + 1 < most.length ? most.at(-1) : undefined
}
