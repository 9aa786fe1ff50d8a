import { useQuery } from '@tanstack/react-query'
import { toApiError } from '../../api/api-error.ts'
import { type Reply, type Versioned, versioned } from '../../api/call.ts'

export type Envelope = Reply<'GET /v1/clients/{client_id}/owners/{owner_id}/rate-limit'>

/** Returns null if there are no limits. */
export async function readLimits(client_id: string, owner_id: string): Promise<Versioned<Envelope> | null> {
  try {
    return await versioned('GET /v1/clients/{client_id}/owners/{owner_id}/rate-limit', {
      path: { client_id, owner_id }
    })
  } catch (thrown) {
    if (toApiError(thrown).status === 404) return null
    throw thrown
  }
}

export const useLimits = (client_id: string, owner_id: string) =>
  useQuery({
    queryKey: ['limits', client_id, owner_id],
    enabled: client_id !== '',
    queryFn: () => readLimits(client_id, owner_id)
  })

export const limitNames = [
  'bandwidth_in_bps',
  'bandwidth_out_bps',
  'bandwidth_in_burst_bytes',
  'bandwidth_out_burst_bytes',
  'concurrent_connections',
  'new_connections_per_sec',
  'new_connections_burst'
] as const
type Limit = (typeof limitNames)[number]

/** A number; '' for no limit; or a text that is no quantity, which the server refuses. */
export type Values = Readonly<Record<Limit, number | string>>

export const toValues = (limits: Envelope['rate_limit']): Values =>
  Object.fromEntries(limitNames.map(name => [name, limits[name] ?? ''])) as Values

export const toLimits = (values: Values): Envelope['rate_limit'] =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
