import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Returns the seconds of '30s', '10m', '1h' or '7d', the value of --for. */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  if (count === undefined)
    throw new Fault(wrongUsage, `--for must be a duration such as 30s, 10m, 1h or 7d, got ${text}`)
  return Number(count) * (units[unit] ?? 1)
}
