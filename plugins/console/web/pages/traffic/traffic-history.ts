// Reads the traffic history and converts it for the chart and for CSV.
import { useQuery } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'
import type { Point } from '../../parts/chart/points.ts'

type Traffic = Reply<'GET /v1/traffic/global'>
export type Sample = Traffic['samples'][number]

const hour = 3600
const day = 24 * hour
export const ranges = { hour, day, week: 7 * day, month: 30 * day, quarter: 90 * day } as const
export type Range = keyof typeof ranges

export interface Choice {
  readonly user: string // '': all users
  readonly client: string // '': all clients
  readonly range: Range
}

export interface History extends Traffic {
  readonly from: number // seconds
  readonly to: number
}

export const useTrafficHistory = (choice: Choice) =>
  useQuery({
    queryKey: ['traffic', choice],
    refetchInterval: 30_000,
    queryFn: async (): Promise<History> => {
      const to = Math.ceil(Date.now() / 60_000) * 60
      const from = to - ranges[choice.range] + (choice.range === 'quarter' ? hour : 0) // the server may already have removed the oldest hour
      return { ...(await ask(choice, { from, to })), from, to }
    }
  })

function ask(
  { user, client }: Choice,
  query: { readonly from: number; readonly to: number }
): Promise<Traffic> {
  if (user !== '')
    return call('GET /v1/users/{user_id}/traffic', {
      path: { user_id: user },
      query: { ...query, ...(client !== '' && { client_id: client }) }
    })
  if (client !== '')
    return call('GET /v1/clients/{client_id}/traffic', { path: { client_id: client }, query })
  return call('GET /v1/traffic/global', { query })
}

/** Returns a point per minute or hour. One without a sample is a gap. */
export function toPoints({ bucket, samples, from, to }: History): readonly Point[] {
  const step = bucket === '1m' ? 60 : hour
  const found = new Map(samples.map(sample => [sample.ts, sample]))
  const first = Math.floor(from / step) * step
  return Array.from({ length: Math.ceil((to - first) / step) }, (_, i) => {
    const at = first + i * step
    const sample = found.get(at)
    return { at, values: sample ? [sample.bytes_in, sample.bytes_out] : [null, null] }
  })
}

export const toCsv = (samples: readonly Sample[]): string =>
  ['time,bytes_in,bytes_out', ...samples.map(toCsvLine)].join('\r\n')

const toCsvLine = ({ ts, bytes_in, bytes_out }: Sample): string =>
  [new Date(ts * 1000).toISOString(), bytes_in, bytes_out].join(',')

/** Downloads `content` as a file. */
export function saveFile(name: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
