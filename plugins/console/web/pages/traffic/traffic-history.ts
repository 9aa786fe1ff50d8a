// History of bytes, and how long a time it is.
import { useQuery } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'
import type { Point } from '../../parts/chart/points.ts'

export type Traffic = Reply<'GET /v1/traffic/global'>
export type Sample = Traffic['samples'][number]

const hour = 3600
const day = 24 * hour
export const ranges = { hour, day, week: 7 * day, month: 30 * day, quarter: 90 * day } as const
export type Range = keyof typeof ranges

export interface Choice {
  readonly user: string // '': everybody
  readonly edge: string // '': every edge
  readonly range: Range
}

export interface History extends Traffic {
  readonly from: number // seconds
  readonly to: number
}

export const useHistory = (choice: Choice) =>
  useQuery({
    queryKey: ['traffic', choice],
    refetchInterval: 30_000,
    queryFn: async (): Promise<History> => {
      const to = Math.ceil(Date.now() / 60_000) * 60
      const from = to - ranges[choice.range] + (choice.range === 'quarter' ? hour : 0) // the oldest hour may be gone by now
      return { ...(await ask(choice, { from, to })), from, to }
    }
  })

function ask(
  { user, edge }: Choice,
  query: { readonly from: number; readonly to: number }
): Promise<Traffic> {
  if (user !== '')
    return call('GET /v1/users/{user_id}/traffic', {
      path: { user_id: user },
      query: { ...query, ...(edge !== '' && { client_id: edge }) }
    })
  if (edge !== '') return call('GET /v1/clients/{client_id}/traffic', { path: { client_id: edge }, query })
  return call('GET /v1/traffic/global', { query })
}

/** A point for each minute or hour; those without a sample are gaps. */
export function pointsOf({ bucket, samples, from, to }: History): readonly Point[] {
  const step = bucket === '1m' ? 60 : hour
  const found = new Map(samples.map(sample => [sample.ts, sample]))
  const first = Math.floor(from / step) * step
  return Array.from({ length: Math.ceil((to - first) / step) }, (_, i) => {
    const at = first + i * step
    const sample = found.get(at)
    return { at, values: sample ? [sample.bytes_in, sample.bytes_out] : [null, null] }
  })
}

export const csvOf = (samples: readonly Sample[]): string =>
  ['time,bytes_in,bytes_out', ...samples.map(lineOf)].join('\r\n')

const lineOf = ({ ts, bytes_in, bytes_out }: Sample): string =>
  [new Date(ts * 1000).toISOString(), bytes_in, bytes_out].join(',')

/** Lets the browser save a file that was made here. */
export function save(name: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
