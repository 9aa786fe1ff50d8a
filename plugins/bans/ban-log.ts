import type { AgentCall } from '../../agent/plugin.ts'
import type { Ban } from './wire.ts'

const minuteMs = 60_000
const bansPerMinute = 20

/** Logs a part of the bans that an agent makes, so that a flood of sources does not flood the log. */
export interface BanLog {
  /** Logs the first 20 bans of an owner in a minute, and at its end the number of others. */
  made(ban: Ban, owner: string): void
  /** Logs the first eviction of an owner in a minute, and at its end the number of others. */
  evicted(ban: Ban, owner: string): void
}

export function openBanLog({ clock, log }: Pick<AgentCall, 'clock' | 'log'>): BanLog {
  const ofMade = openLinesPerMinute(clock, bansPerMinute)
  const ofEvicted = openLinesPerMinute(clock, 1)

  return {
    made({ source, rule_id: rule, cause, from_ms, until_ms, times }, owner) {
      const secs = Math.round((until_ms - from_ms) / 1000)
      ofMade(owner, suppressed =>
        log.info('ban.made', `${source} is banned for ${secs} s: ${cause}`, {
          rule,
          source,
          times,
          suppressed
        })
      )
    },
    evicted({ source, rule_id: rule }, owner) {
      ofEvicted(owner, suppressed =>
        log.warn('ban.evicted', `too many bans: the ban of ${source} ends early`, { rule, suppressed })
      )
    }
  }
}

type Write = (suppressed: number) => void

/** Writes the first lines of a key in a minute. At its end, repeats the last one with the number of unwritten lines. */
function openLinesPerMinute(clock: AgentCall['clock'], lines: number): (key: string, write: Write) => void {
  const minutes = new Map<string, { written: number; suppressed: number; last: Write }>() // by key

  return (key, write) => {
    const known = minutes.get(key)
    const minute = known ?? { written: 0, suppressed: 0, last: write }
    minute.last = write
    if (minute.written < lines) {
      minute.written += 1
      write(0)
    } else minute.suppressed += 1
    if (known) return
    minutes.set(key, minute)
    clock.after(minuteMs, () => {
      minutes.delete(key)
      if (minute.suppressed > 0) minute.last(minute.suppressed)
    })
  }
}
