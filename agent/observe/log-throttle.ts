import type { Clock } from '../../kernel/base/clock.ts'

/**
 * Writes the first line of a key at once. Repetitions are counted, and written as one line every 10 s with their number;
 * after 10 s without one the key starts anew.
 */
export type LogThrottle = (key: string, write: (suppressed: number) => void) => void

const intervalMs = 10_000

export function openLogThrottle(clock: Clock): LogThrottle {
  const suppressed = new Map<string, number>()

  const schedule = (key: string, write: (suppressed: number) => void): void =>
    void clock.after(intervalMs, () => {
      const count = suppressed.get(key) ?? 0
      if (count === 0) return void suppressed.delete(key)
      suppressed.set(key, 0)
      write(count)
      schedule(key, write)
    })

  return (key, write) => {
    const count = suppressed.get(key)
    suppressed.set(key, count === undefined ? 0 : count + 1)
    if (count !== undefined) return
    write(0)
    schedule(key, write)
  }
}
