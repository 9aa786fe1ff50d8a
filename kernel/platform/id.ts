import { randomFillSync } from 'node:crypto'
import { monotonicFactory } from 'ulid'

const random = Buffer.alloc(4096) // one system call per character would dominate the cost of an id
let at = random.length - 1

function nextRandom(): number {
  at = (at + 1) % random.length
  if (at === 0) randomFillSync(random)
  return (random[at] ?? 0) / 256
}

/** Returns an upper-case ULID. Ids ascend, even within one millisecond. */
export const newId = monotonicFactory(nextRandom)

export const isId = (text: string): boolean => /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
