import type { ConnectionsEvent } from '../schema.ts'
import type { RatedRow } from './columns.ts'

/** Returns the rows of an event with their rates since the previous event. */
export function withRates(before: ConnectionsEvent | null, now: ConnectionsEvent): readonly RatedRow[] {
  const secs = before ? (Date.parse(now.at) - Date.parse(before.at)) / 1000 : 0
  const earlier = new Map(before?.connections.map(row => [row.connection_id, row]))
  return now.connections.map(row => {
    const then = secs > 0 ? earlier.get(row.connection_id) : undefined
    return {
      ...row,
      in_rate: then ? Math.max(0, row.bytes_in - then.bytes_in) / secs : null,
      out_rate: then ? Math.max(0, row.bytes_out - then.bytes_out) / secs : null
    }
  })
}
