// The query client of all pages, and what happens on errors.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { notify } from '../app/notices.ts'
import { type ApiError, isMissingRoute, toApiError } from './api-error.ts'

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: Error
    /** `shown`: the form shows the error, so no notice appears. */
    mutationMeta: { readonly shown?: boolean }
  }
}

/** Query keys of session-limits.ts. */
export const mustChangeKey = ['must-change']
export const mustEnrollKey = ['must-enroll']

const counterMs = 5000 // counters have no change number, so they are read at this interval
const longListMs = 60_000
const longListRows = 1000 // a longer list costs the server more than a second

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: thrown => handleAuthError(toApiError(thrown)) }),
  mutationCache: new MutationCache({
    onError: (thrown, _variables, _context, { meta }) => {
      const error = toApiError(thrown)
      handleAuthError(error)
      if (error.status === 412) void queryClient.invalidateQueries()
      if (error.status !== 401 && !meta?.shown) notify(error)
    },
    // Any page may show the changed record.
    onSuccess: () => void queryClient.invalidateQueries()
  }),
  defaultOptions: {
    queries: {
      refetchInterval: ({ state: { data, error } }) => {
        if (isMissingRoute(error)) return false
        return Array.isArray(data) && data.length > longListRows ? longListMs : counterMs
      },
      staleTime: 2000,
      networkMode: 'always',
      retry: (failed, thrown) => toApiError(thrown).isTransient && failed < 3,
      retryDelay: (failed, thrown) => (toApiError(thrown).retryAfterSecs ?? 2 ** failed) * 1000
    },
    mutations: { networkMode: 'always' }
  }
})

/** Ended session, temporary password or no second factor: the gate shows its form, then returns to the page. */
export function handleAuthError({ status, code }: ApiError): void {
  if (status === 401) void queryClient.invalidateQueries({ queryKey: ['me'] })
  if (code === 'password_change_required') queryClient.setQueryData(mustChangeKey, true)
  if (code === 'second_factor_enrollment_required') queryClient.setQueryData(mustEnrollKey, true)
}
