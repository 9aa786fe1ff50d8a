import { isId } from '../../kernel/base/id.ts'

/** The last entry of a page. The next one is older, or has the same time and a lower id. */
export interface Position {
  readonly timestamp: number
  readonly id: string
}

/** Encodes 42 bytes, which need no padding in base64url. */
export const formatCursor = ({ timestamp, id }: Position): string =>
  Buffer.from(`${String(timestamp).padStart(15, '0')} ${id}`).toString('base64url')

export function parseCursor(cursor: string): Position | null {
  const [, ms = '', id = ''] = /^(\d{15}) (.{26})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const position = { timestamp: Number(ms), id }
  return isId(id) && formatCursor(position) === cursor ? position : null
}

const rfc3339 =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(\d{2}))[Tt]((?:[01]\d|2[0-3])(?::[0-5]\d){2})(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Returns milliseconds since 1970, or null for an invalid time, such as a 30th of February. */
export function parseTime(text: string): number | null {
  const [, date, day, time, fraction = '', zone = ''] = rfc3339.exec(text) ?? []
  if (date === undefined || new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return null
  return Date.parse(`${date}T${time}${fraction.slice(0, 4)}${zone.toUpperCase()}`)
}
