import { systemClock } from '../../../kernel/base/clock.ts'

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000
}

/** Converts an age such as '90m', '12h', '7d' or '2w' to RFC 3339. Returns other text unchanged. */
export function absoluteTime(text: string): string {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? []
  return count === undefined
    ? text
    : new Date(systemClock.now() - Number(count) * (unitMs[unit] ?? 0)).toISOString()
}
