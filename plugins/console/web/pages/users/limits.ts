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

/** The limits, each with its unit in the form: Mbit/s, MB or a number. */
export const units = {
  bandwidth_in_bps: 1e6,
  bandwidth_out_bps: 1e6,
  bandwidth_in_burst_bytes: 1e6,
  bandwidth_out_burst_bytes: 1e6,
  concurrent_connections: 1,
  new_connections_per_sec: 1,
  new_connections_burst: 1
} as const
type Limit = keyof typeof units
export type Values = Readonly<Record<Limit, number | ''>>

export const limitNames = Object.keys(units) as Limit[]

export const toValues = (limits: Envelope['rate_limit']): Values =>
  Object.fromEntries(
    limitNames.map(name => {
      const value = limits[name]
      return [name, value === undefined ? '' : value / units[name]]
    })
  ) as Values

export const toLimits = (values: Values): Envelope['rate_limit'] =>
  Object.fromEntries(
    limitNames.flatMap(name => {
      const value = values[name]
      return value === '' ? [] : [[name, Math.round(value * units[name])]]
    })
  )
