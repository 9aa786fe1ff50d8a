import { useQuery } from '@tanstack/react-query'
import { isMissingRoute } from '../../api/api-error.ts'
import { call, type Row, rows } from '../../api/call.ts'

export type Link = Row<'GET /v1/links'>

export const useLinks = () => useQuery({ queryKey: ['links'], queryFn: () => rows('GET /v1/links') })

/** False if the server runs no plugin for links; undefined until it is known. */
export const useOffersLinks = (): boolean | undefined =>
  useQuery({
    queryKey: ['offers-links'],
    queryFn: () =>
      call('GET /v1/links', { query: { limit: 1 } }).then(
        () => true,
        thrown => {
          if (isMissingRoute(thrown)) return false
          throw thrown
        }
      ),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false
  }).data
