import { peekBoundsMs, type Sample } from '../../engine.ts'

/** How long names were awaited. */
export interface Peeks {
  add(ms: number): void
  count(): Sample['peekDurations']
}

export function openPeeks(): Peeks {
  const counts = [...peekBoundsMs.map(() => 0), 0]
  let sumMs = 0
  return {
    add(ms) {
      const place = peekBoundsMs.findIndex(bound => ms <= bound)
      const bucket = place < 0 ? peekBoundsMs.length : place
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sumMs += ms
    },
    count: () => ({ counts: [...counts], sumMs })
  }
}
