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

export const fields = {
  inMbit: { key: 'bandwidth_in_bps', unit: 1e6 },
  outMbit: { key: 'bandwidth_out_bps', unit: 1e6 },
  inBurst: { key: 'bandwidth_in_burst_bytes', unit: 1e6 },
  outBurst: { key: 'bandwidth_out_burst_bytes', unit: 1e6 },
  connections: { key: 'concurrent_connections', unit: 1 },
  perSec: { key: 'new_connections_per_sec', unit: 1 },
  perSecBurst: { key: 'new_connections_burst', unit: 1 }
} as const
type Field = keyof typeof fields
export type Values = Readonly<Record<Field, number | ''>>

export const fieldNames = Object.keys(fields) as Field[]

export const toValues = (limit: Envelope['rate_limit'] | undefined): Values =>
  Object.fromEntries(
    fieldNames.map(name => {
      const { key, unit } = fields[name]
      const value = limit?.[key]
      return [name, value === undefined ? '' : value / unit]
    })
  ) as Values

export const toLimits = (values: Values): Envelope['rate_limit'] =>
  Object.fromEntries(
    fieldNames.flatMap(name => {
      const value = values[name]
      return value === '' ? [] : [[fields[name].key, Math.round(value * fields[name].unit)]]
    })
  )
