// Whether the password of the session is temporary. The login says so, and every refused call.
import { useQuery } from '@tanstack/react-query'
import { mustChangeKey as key, queryClient } from './query-client.ts'

export const setMustChange = (value: boolean): void => void queryClient.setQueryData(key, value)

export const useMustChange = (): boolean =>
  useQuery({
    queryKey: key,
    queryFn: () => false,
    initialData: false,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: false
  }).data
