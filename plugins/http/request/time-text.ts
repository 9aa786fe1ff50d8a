import { Type } from 'typebox'
import { invalidTimestamp } from '../codes.ts'

const rfc3339 =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(\d{2}))[Tt]((?:[01]\d|2[0-3])(?::[0-5]\d){2})(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

const minMs = Date.parse('0001-01-01T00:00:00.000Z')
const maxMs = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Returns Unix time in ms, or null for an invalid time such as the 30th of February. A time that UTC shows before year 1
 * or after year 9999 is invalid: RFC 3339 cannot write it.
 */
export function parseTime(text: string): number | null {
  const [, date, day, time, fraction = '', zone = ''] = rfc3339.exec(text) ?? []
  if (date === undefined || new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return null
  const ms = Date.parse(`${date}T${time}${fraction.slice(0, 4)}${zone.toUpperCase()}`)
  return ms >= minMs && ms <= maxMs ? ms : null
}

/** Schema of a time in a query. Values that `parseTime` refuses get `invalid_timestamp`. */
export const TimeText = (description: string) =>
  Type.Refine(
    Type.String({ description: `${description} RFC 3339.`, code: invalidTimestamp.code }),
    text => parseTime(text) !== null,
    () => 'must be a time such as 2026-01-31T12:00:00Z'
  )
