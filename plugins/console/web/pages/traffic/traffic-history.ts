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
  readonly rule?: string // the history of this rule; default: of all rules
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
  { rule, user, client }: Choice,
  query: { readonly from: number; readonly to: number }
): Promise<Traffic> {
  if (rule !== undefined) return call('GET /v1/rules/{rule_id}/traffic', { path: { rule_id: rule }, query })
  if (user !== '')
    return call('GET /v1/users/{user_id}/traffic', {
      path: { user_id: user },
      query: { ...query, ...(client !== '' && { client_id: client }) }
    })
  if (client !== '')
    return call('GET /v1/clients/{client_id}/traffic', { path: { client_id: client }, query })
  return call('GET /v1/traffic/global', { query })
}

/** Returns the seconds of a bucket. */
export const stepOf = ({ bucket }: Pick<History, 'bucket'>): number => (bucket === '1m' ? 60 : hour)

/** Returns the start of each minute or hour that has ended. */
export function bucketsOf(history: Pick<History, 'bucket' | 'from' | 'to'>): readonly number[] {
  const step = stepOf(history)
  const first = Math.floor(history.from / step) * step
  const ended = Math.floor(Math.min(history.to, Date.now() / 1000) / step) * step
  return Array.from({ length: Math.max(0, (ended - first) / step) }, (_, i) => first + i * step)
}

/** Returns a point for each minute or hour that has ended. One without a sample is a gap. */
export function toPoints(history: History, valuesOf: (sample: Sample, stepSecs: number) => number[]) {
  const { samples } = history
  const step = stepOf(history)
  const found = new Map(samples.map(sample => [sample.ts, sample]))
  const gap = samples[0] ? valuesOf(samples[0], step).map(() => null) : []
  return bucketsOf(history).map((at): Point => {
    const sample = found.get(at)
    return { at, values: sample ? valuesOf(sample, step) : gap }
  })
}

export const toCsv = (samples: readonly Sample[]): string =>
  ['time,bytes_in,bytes_out,connections,refused', ...samples.map(toCsvLine)].join('\r\n')

const toCsvLine = ({ ts, bytes_in, bytes_out, connections, refused }: Sample): string =>
  [new Date(ts * 1000).toISOString(), bytes_in, bytes_out, connections, refused].join(',')

/** Downloads `content` as a file. */
export function saveFile(name: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
