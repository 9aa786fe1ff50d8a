import { readdirSync, readFileSync } from 'node:fs'

/** Left for everything that is not forwarded traffic: files, the control stream, attempts that overlap. */
const spare = 64

export interface Descriptors {
  /** False: no room, nothing is taken. */
  take(count: number): boolean
  give(count: number): void
}

/** Counts what this engine holds on top of what the process held before it. */
export function openDescriptors(): Descriptors {
  const room = softLimit() - inUse() - spare
  let taken = 0
  return {
    take(count) {
      if (taken + count > room) return false
      taken += count
      return true
    },
    give(count) {
      taken -= count
    }
  }
}

// Only Linux tells without an addon; elsewhere the limit shows itself as failed accepts and dials.
function softLimit(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}

const inUse = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)
