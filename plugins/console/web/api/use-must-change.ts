// Whether the password of the session is a temporary one. The login says so, and so does every refused call.
import { useQuery } from '@tanstack/react-query'
import { mustChangeKey as key, queries } from './query-client.ts'

export const setMustChange = (value: boolean): void => void queries.setQueryData(key, value)

export const useMustChange = (): boolean =>
  useQuery({
    queryKey: key,
    queryFn: () => false,
    initialData: false,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: false
  }).data
