import type { Sample } from './samples.ts'

const widest = 32
const eighths = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** At most 32 columns, an eighth of a column fine. */
export function bar(value: number, most: number): string {
  const steps = most === 0 ? 0 : Math.ceil((value / most) * widest * 8)
  return '█'.repeat(Math.floor(steps / 8)) + (steps % 8 === 0 ? '' : eighths[steps % 8])
}

/** '1.5 MiB'. */
export function size(bytes: number): string {
  const power = bytes === 0 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`
}

/** RFC 4180, all of it numbers. */
export const csv = (samples: readonly Sample[]): string =>
  ['ts,bytes_in,bytes_out', ...samples.map(row => `${row.ts},${row.bytes_in},${row.bytes_out}`)].join('\n')
