// Weekly hours in a time zone. The server computes states from them, and the agent opens and closes rules.
import { days, type Hours } from './fields.ts'

const minuteMs = 60_000
const weekMinutes = 7 * 24 * 60

/** More than a week, because a zone can skip a day. */
const horizonMs = 16 * 24 * 60 * minuteMs

const formats = new Map<string, Intl.DateTimeFormat>() // by zone; Node's ICU has the rules of zones
const maxFormats = 1000

/** Throws RangeError if Node does not know the time zone. */
export function formatFor(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric'
  })
  if (formats.size < maxFormats) formats.set(timeZone, made)
  return made
}

/** Returns the local time of the zone, encoded as ms since 1970 without a zone. */
function localMs(timeZone: string, ms: number): number {
  const parts = formatFor(timeZone).formatToParts(ms)
  const part = (type: string): number => Number(parts.find(one => one.type === type)?.value)
  const date = Date.UTC(part('year'), part('month') - 1, part('day'))
  return date + (part('hour') * 60 + part('minute')) * minuteMs + part('second') * 1000
}

/** Returns the offset of the zone from UTC in ms. */
const offsetAt = (timeZone: string, ms: number): number =>
  localMs(timeZone, ms) - Math.floor(ms / 1000) * 1000

/** Returns minutes since the start of Monday. */
const minuteOfWeek = (local: number): number => {
  const minutes = Math.floor(local / minuteMs) + 3 * 24 * 60 // 1970-01-01 was a Thursday
  return ((minutes % weekMinutes) + weekMinutes) % weekMinutes
}

const minuteOfDay = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

/** Returns start and end of each window in a week, in minutes since the start of Monday. */
const weekSpans = ({ windows }: Hours): (readonly [from: number, to: number])[] =>
  windows.flatMap(window =>
    window.days.map(day => {
      const start = days.indexOf(day) * 24 * 60
      return [start + minuteOfDay(window.from), start + minuteOfDay(window.to)] as const
    })
  )

/**
 * True while the local time is within a window. If clocks skip the start of a window in spring, it opens right after the gap.
 * Times that clocks show twice in autumn are in their windows both times.
 */
export function isOpenAt(hours: Hours, ms: number): boolean {
  const minute = minuteOfWeek(localMs(hours.time_zone, ms))
  return weekSpans(hours).some(([from, to]) => from <= minute && minute < to)
}

/** Returns the first time after `ms` when a window opens or closes, or null if nothing changes in the next two weeks. */
export function nextChange(hours: Hours, ms: number): number | null {
  const before = isOpenAt(hours, ms)
  const edges = [
    ...new Set(
      weekSpans(hours)
        .flat()
        .map(minute => minute % weekMinutes)
    )
  ]
  for (let at = ms; at < ms + horizonMs; ) {
    at = nextEdge(hours.time_zone, edges, at)
    if (isOpenAt(hours, at) !== before) return at
  }
  return null
}

/** Returns when the local time next reaches one of these minutes of the week, or jumps. `edges` must not be empty. */
function nextEdge(timeZone: string, edges: readonly number[], ms: number): number {
  const local = localMs(timeZone, ms)
  const minute = minuteOfWeek(local)
  const ahead = edges.map(edge => (edge > minute ? edge - minute : edge - minute + weekMinutes))
  const minuteStart = Math.floor(local / minuteMs) * minuteMs
  const offset = offsetAt(timeZone, ms)
  const edge = minuteStart + Math.min(...ahead) * minuteMs - offset
  if (offsetAt(timeZone, edge) === offset) return edge
  return firstWhere(ms, edge, at => offsetAt(timeZone, at) !== offset)
}

/** Returns the first second in (from, to] when the condition holds. It must hold at `to`, and never end again. */
function firstWhere(from: number, to: number, holds: (ms: number) => boolean): number {
  let low = Math.floor(from / 1000)
  let high = Math.floor(to / 1000)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle * 1000)) high = middle
    else low = middle
  }
  return high * 1000
}
