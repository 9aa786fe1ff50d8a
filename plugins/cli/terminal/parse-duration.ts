import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** Returns the seconds of '30s', '10m', '1h', '7d' or '2w', the value of --for. */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  if (count === undefined)
    throw new Fault(wrongUsage, `--for must be a duration such as 30s, 10m, 1h, 7d or 2w, got ${text}`)
  return Number(count) * (units[unit] ?? 1)
}
