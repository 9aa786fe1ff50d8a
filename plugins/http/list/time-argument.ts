// Times as commands take them.
import { systemClock } from '../../../kernel/base/clock.ts'

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the time so long ago for '90m', '12h' or '7d', as RFC 3339; any other text as it is. */
export function absoluteTime(text: string): string {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return count === undefined
    ? text
    : new Date(systemClock.now() - Number(count) * (unitMs[unit] ?? 0)).toISOString()
}
