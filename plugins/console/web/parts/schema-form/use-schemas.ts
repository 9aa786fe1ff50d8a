import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import type { Schemas } from './schema.ts'

/** Reads the named schemas of this server's API, with the fields of all its plugins. */
export const useSchemas = () =>
  useQuery({
    queryKey: ['schemas'],
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    queryFn: async (): Promise<Schemas> => {
      const document = (await call('GET /v1/openapi.json')) as { components?: { schemas?: Schemas } }
      return document.components?.schemas ?? {}
    }
  })
