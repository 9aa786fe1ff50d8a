import { useQuery } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'

export type Summary = Reply<'GET /v1/stats/summary'>

/** Reads totals of everything the user may see. Cheap, so it is read often enough for a smooth throughput chart. */
export const useSummary = () =>
  useQuery({
    queryKey: ['summary'],
    refetchInterval: 1500,
    queryFn: () => call('GET /v1/stats/summary')
  })
