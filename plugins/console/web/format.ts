// Formats times, sizes and rates in the language of the page.
import { locale } from './text/text.ts'

const number = new Intl.NumberFormat(locale)
const short = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 })
const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const exactTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })

const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 })

export const count = (n: number): string => number.format(n)

/** 0.875 is '87%'. Rounds down, so that only a full share is 100%. */
export const percent = (part: number): string => share.format(Math.floor(part * 100) / 100)

const scaled = (n: number, base: number, units: readonly string[]): string => {
  let at = 0
  let value = n
  while (value >= base && at < units.length - 1) {
    value /= base
    at++
  }
  return `${short.format(value)} ${units[at]}`
}

/** 1536 is '1.54 kB', in powers of 1000 like rates. */
export const bytes = (n: number): string => scaled(n, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'])

/** Formats bytes per second in bits: 125000 is '1 Mbit/s'. */
export const rate = (bytesPerSec: number): string =>
  scaled(bytesPerSec * 8, 1000, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'])

const thisYear = new Intl.DateTimeFormat(locale, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit'
})

/** With seconds, and without the current year. */
export const brief = (rfc3339: string, now = new Date()): string =>
  new Date(rfc3339).getFullYear() === now.getFullYear() ? thisYear.format(new Date(rfc3339)) : time(rfc3339)

export const time = (rfc3339: string): string => dateTime.format(new Date(rfc3339))

export const timeWithSeconds = (rfc3339: string): string => exactTime.format(new Date(rfc3339))

/** '2026-01-31 12:00:00 UTC' */
export const utc = (rfc3339: string): string =>
  `${new Date(rfc3339).toISOString().slice(0, 19).replace('T', ' ')} UTC`

const steps = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Number.POSITIVE_INFINITY]
] as const

/** '3 min. ago' */
export function ago(rfc3339: string, now = Date.now()): string {
  let value = (Date.parse(rfc3339) - now) / 1000
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) return relative.format(Math.trunc(value), unit)
    value /= size
  }
  return time(rfc3339)
}

/** '9:05' */
export const countdown = (secs: number): string =>
  `${Math.floor(secs / 60)}:${String(Math.floor(secs % 60)).padStart(2, '0')}`

/** '12 s', '3 min', '5 h', '3 d' */
export function duration(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`
}

/** True for a generated id, such as that of a rule. */
export const isUlid = (id: string): boolean => /^[0-9A-HJKMNP-TV-Z]{26}$/.test(id)
