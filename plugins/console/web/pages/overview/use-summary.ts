import { useQuery } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'

export type Summary = Reply<'GET /v1/stats/summary'>

/** Counts of all that the caller may see: cheap, and read so often that throughput is a curve. */
export const useSummary = () =>
  useQuery({
    queryKey: ['summary'],
    refetchInterval: 1500,
    queryFn: () => call('GET /v1/stats/summary')
  })
