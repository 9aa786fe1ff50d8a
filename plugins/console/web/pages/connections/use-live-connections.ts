import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Row } from '../../api/call.ts'
import { type StreamState, useEvents } from '../../api/use-events.ts'

type Connection = Row<'GET /v1/connections'>
type Event = {
  readonly at: string
  readonly matched: number
  readonly clients_silent: number
  readonly clients: readonly {
    readonly client_id: string
    readonly client_name: string
    readonly state: string
  }[]
  readonly connections: readonly Connection[]
}

/** A connection with its rates in bytes per second; null before the second event. */
export interface LiveRow extends Connection {
  readonly rateIn: number | null
  readonly rateOut: number | null
}

export interface LiveFilter {
  readonly client?: string
  readonly rule_id?: string
  readonly owner?: string
  readonly source?: string
  readonly target?: string
  readonly protocol?: string
}

export interface LiveView {
  readonly rows: readonly LiveRow[]
  readonly matched: number
  readonly silentClients: readonly string[] // names of clients that do not respond
  readonly silentCount: number
}

export const maxShown = 500

/**
 * Streams the first open connections by `sort`, and their total number. A refused stream has no reason, so the filter is
 * tested with the list route first.
 */
export function useLiveConnections(filter: LiveFilter, sort: string) {
  const check = useQuery({
    queryKey: ['live-filter', filter],
    queryFn: () => call('GET /v1/connections', { query: { ...(filter as object), limit: 1 } }),
    enabled: Object.keys(filter).length > 0,
    refetchInterval: false
  })
  const [seen, setSeen] = useState<(LiveView & { readonly at: number }) | null>(null)
  const query = new URLSearchParams({ ...filter, sort, limit: String(maxShown) })
  const url = check.isError ? null : `/v1/connections/stream?${query}`
  const state: StreamState = useEvents<Event>(url, ['connections'], event =>
    setSeen(before => ({
      at: Date.parse(event.at),
      rows: withRates(event, before),
      matched: event.matched,
      silentClients: event.clients
        .filter(client => client.state !== 'answered')
        .map(client => client.client_name),
      silentCount: event.clients_silent
    }))
  )
  return { seen: check.isError ? null : seen, state, error: check.error }
}

function withRates(
  { at, connections }: Event,
  before: (LiveView & { readonly at: number }) | null
): LiveRow[] {
  const secs = before === null ? 0 : (Date.parse(at) - before.at) / 1000
  const known = new Map(before?.rows.map(row => [row.connection_id, row]))
  return connections.map(row => {
    const last = known.get(row.connection_id)
    if (!last || secs <= 0) return { ...row, rateIn: last?.rateIn ?? null, rateOut: last?.rateOut ?? null }
    return {
      ...row,
      rateIn: Math.max(0, row.bytes_in - last.bytes_in) / secs,
      rateOut: Math.max(0, row.bytes_out - last.bytes_out) / secs
    }
  })
}
