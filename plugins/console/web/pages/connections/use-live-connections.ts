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

/** A row, with how fast it is: bytes a second between two events; null before there are two. */
export interface LiveRow extends Connection {
  readonly inRate: number | null
  readonly outRate: number | null
}

export interface LiveFilter {
  readonly client?: string
  readonly rule_id?: string
  readonly owner?: string
  readonly source?: string
  readonly target?: string
  readonly protocol?: string
}

export interface Seen {
  readonly rows: readonly LiveRow[]
  readonly matched: number
  readonly silent: readonly string[] // names of edges of which nothing is known
  readonly silentCount: number
}

export const maxShown = 500

/**
 * What is open now, as the server streams it: the first rows by `sort`, and how many there are. A stream cannot say why it
 * is refused: a filter is tried at the list before.
 */
export function useLive(filter: LiveFilter, sort: string) {
  const tried = useQuery({
    queryKey: ['live-filter', filter],
    queryFn: () => call('GET /v1/connections', { query: { ...(filter as object), limit: 1 } }),
    enabled: Object.keys(filter).length > 0,
    refetchInterval: false
  })
  const [seen, setSeen] = useState<(Seen & { readonly at: number }) | null>(null)
  const query = new URLSearchParams({ ...filter, sort, limit: String(maxShown) })
  const url = tried.isError ? null : `/v1/connections/stream?${query}`
  const state: StreamState = useEvents<Event>(url, ['connections'], event =>
    setSeen(before => ({
      at: Date.parse(event.at),
      rows: withRates(event, before),
      matched: event.matched,
      silent: event.clients.filter(client => client.state !== 'answered').map(client => client.client_name),
      silentCount: event.clients_silent
    }))
  )
  return { seen: tried.isError ? null : seen, state, error: tried.error }
}

function withRates({ at, connections }: Event, before: (Seen & { readonly at: number }) | null): LiveRow[] {
  const secs = before === null ? 0 : (Date.parse(at) - before.at) / 1000
  const known = new Map(before?.rows.map(row => [row.connection_id, row]))
  return connections.map(row => {
    const last = known.get(row.connection_id)
    if (!last || secs <= 0) return { ...row, inRate: last?.inRate ?? null, outRate: last?.outRate ?? null }
    return {
      ...row,
      inRate: Math.max(0, row.bytes_in - last.bytes_in) / secs,
      outRate: Math.max(0, row.bytes_out - last.bytes_out) / secs
    }
  })
}
