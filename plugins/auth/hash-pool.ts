import { hash, needsRehash, verify } from 'argon2'
import { defineCode, Fault } from '../../kernel/base/errors.ts'

export const busy = defineCode('busy', 503, 6)

const strength = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Of the present strength and of no password: who is unknown costs as much as who is known. */
const nobodysHash = [
  '$argon2id$v=19',
  `m=${strength.memoryCost},p=${strength.parallelism},t=${strength.timeCost}`,
  Buffer.alloc(16).toString('base64').replace(/=+$/, ''),
  Buffer.alloc(32).toString('base64').replace(/=+$/, '')
].join('$')

/** Argon2id. Reached only by who holds a turn. */
const argon = {
  hash: (password: string): Promise<string> => hash(password, strength),
  verify: (known: string | null, password: string): Promise<boolean> =>
    verify(known ?? nobodysHash, password),
  isOutdated: (known: string): boolean => needsRehash(known, strength)
}
export type Argon = typeof argon

export type HashPool = ReturnType<typeof openHashPool>

/** Each hash takes 19 MiB and a core: so many run at once, so many wait, the rest come again. */
export function openHashPool(running = 2, waiting = 32) {
  const queue: (() => void)[] = []
  let free = running

  /** For whoever asks the store before the hash: a flood is turned away without it. */
  function refuseFull(): void {
    if (free > 0 || queue.length < waiting) return
    throw new Fault(busy, 'too many passwords are being checked; try again in a second', {
      details: { retry_after_secs: 1 }
    })
  }

  async function enter(): Promise<void> {
    refuseFull()
    if (free > 0) {
      free--
      return
    }
    await new Promise<void>(resolve => queue.push(resolve))
  }

  function leave(): void {
    const next = queue.shift()
    if (next) next()
    else free++
  }

  async function turn<T>(work: (argon: Argon) => Promise<T>): Promise<T> {
    await enter()
    try {
      return await work(argon)
    } finally {
      leave()
    }
  }
  return Object.assign(turn, { refuseFull })
}
