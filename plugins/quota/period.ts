// Periods of a quota: calendar months from its anchor, in UTC. All times are Unix seconds.

export interface Period {
  readonly start: number
  readonly end: number // the start of the next
}

export function periodAt(anchor: number, at: number): Period {
  const from = new Date(anchor * 1000)
  const now = new Date(at * 1000)
  const months = (now.getUTCFullYear() - from.getUTCFullYear()) * 12 + now.getUTCMonth() - from.getUTCMonth()
  const passed = monthsAfter(from, months) > at ? months - 1 : months
  return { start: monthsAfter(from, passed), end: monthsAfter(from, passed + 1) }
}

/** Uses the last day of a shorter month. Counts from the anchor each time, so that day 31 returns after it. */
function monthsAfter(anchor: Date, months: number): number {
  const year = anchor.getUTCFullYear()
  const month = anchor.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const day = Math.min(anchor.getUTCDate(), lastDay)
  const time = [anchor.getUTCHours(), anchor.getUTCMinutes(), anchor.getUTCSeconds()] as const
  return Date.UTC(year, month, day, ...time) / 1000
}

export function firstOfMonth(at: number): number {
  const now = new Date(at * 1000)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) / 1000
}
