import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { call, type Reply } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'

export type Summary = Reply<'GET /v1/stats/summary'>

/**
 * Counts of all that the caller may see, read so often that an edge that is lost shows within 2 s. It is cheap: where its
 * counts change, the lists are read anew, which else rest for longer.
 */
export function useSummary() {
  const summary = useQuery({
    queryKey: ['summary'],
    refetchInterval: 1500,
    queryFn: () => call('GET /v1/stats/summary')
  })
  const counts = summary.data && JSON.stringify([summary.data.clients, summary.data.rules])
  const last = useRef(counts)
  useEffect(() => {
    if (last.current !== undefined && last.current !== counts) {
      void queries.invalidateQueries({ queryKey: ['edges'] })
      void queries.invalidateQueries({ queryKey: ['rules'] })
    }
    last.current = counts
  }, [counts])
  return summary
}
