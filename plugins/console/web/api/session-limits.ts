// The duties of a session before anything else: change a temporary password, or set up a second factor. The login says so, and every
// refused call.
import { useQuery } from '@tanstack/react-query'
import { mustChangeKey, mustEnrollKey, queryClient } from './query-client.ts'

export const setMustChange = (value: boolean): void => void queryClient.setQueryData(mustChangeKey, value)
export const setMustEnroll = (value: boolean): void => void queryClient.setQueryData(mustEnrollKey, value)

export const useMustChange = (): boolean => useFlag(mustChangeKey)
export const useMustEnroll = (): boolean => useFlag(mustEnrollKey)

const useFlag = (queryKey: readonly string[]): boolean =>
  useQuery({
    queryKey,
    queryFn: () => false,
    initialData: false,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: false
  }).data
