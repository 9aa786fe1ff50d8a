import type { Clock } from '../../kernel/base/clock.ts'

/** Says a thing at once, and what repeats it in the next 10 s in one line with their number. */
export type LogThrottle = (key: string, say: (suppressed: number) => void) => void

const quietMs = 10_000

export function openLogThrottle(clock: Clock): LogThrottle {
  const suppressed = new Map<string, number>()

  const listen = (key: string, say: (suppressed: number) => void): void =>
    void clock.after(quietMs, () => {
      const count = suppressed.get(key) ?? 0
      if (count === 0) return void suppressed.delete(key)
      suppressed.set(key, 0)
      say(count)
      listen(key, say)
    })

  return (key, say) => {
    const count = suppressed.get(key)
    suppressed.set(key, count === undefined ? 0 : count + 1)
    if (count !== undefined) return
    say(0)
    listen(key, say)
  }
}
