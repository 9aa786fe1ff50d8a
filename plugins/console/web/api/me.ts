import { queryOptions, useQuery } from '@tanstack/react-query'
import { toApiError } from './api-error.ts'
import { call, type Reply } from './call.ts'

export type Me = Reply<'GET /v1/users/me'>

export const meQuery = queryOptions({
  queryKey: ['me'],
  refetchInterval: 60_000,
  queryFn: async (): Promise<Me | null> => {
    const status = await call('GET /v1/auth/status') // a refused call would count as denied
    if (status.onboarding_required || status.signed_in === false) return null
    try {
      return await call('GET /v1/users/me')
    } catch (thrown) {
      const { status, code } = toApiError(thrown)
      if (status === 401 || code === 'bootstrap_required') return null
      throw thrown
    }
  }
})

/** The signed-in user, or null. */
export const useMe = () => useQuery(meQuery)
