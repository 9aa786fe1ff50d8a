// What becomes of errors, once for all pages.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { notify } from '../app/notices.ts'
import { type ApiError, errorOf } from './api-error.ts'

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: Error
    /** `shown`: the form shows the error of its change itself. */
    mutationMeta: { readonly shown?: boolean }
  }
}

/** Whether the password of the session is a temporary one: must-change.ts. */
export const mustChangeKey = ['must-change']

const live = 5000 // ms between two reads of what is seen, for counters: what else is new, changes.ts tells

const rare = 60_000
const longRows = 1000 // such a list costs the server more than a second

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: thrown => handle(errorOf(thrown)) }),
  mutationCache: new MutationCache({
    onError: (thrown, _variables, _context, { meta }) => {
      const error = errorOf(thrown)
      handle(error)
      if (error.status === 412) void queries.invalidateQueries()
      if (error.status !== 401 && !meta?.shown) notify(error)
    },
    // The numbers and lists of any page may show what was changed.
    onSuccess: () => void queries.invalidateQueries()
  }),
  defaultOptions: {
    queries: {
      refetchInterval: ({ state: { data } }) => (Array.isArray(data) && data.length > longRows ? rare : live),
      staleTime: 2000,
      networkMode: 'always',
      retry: (failed, thrown) => errorOf(thrown).isPassing && failed < 3,
      retryDelay: (failed, thrown) => (errorOf(thrown).retryAfterSecs ?? 2 ** failed) * 1000
    },
    mutations: { networkMode: 'always' }
  }
})

/** The session has ended, or its password is temporary: the page gives way, and comes back after the sign-in. */
export function handle({ status, code }: ApiError): void {
  if (status === 401) void queries.invalidateQueries({ queryKey: ['me'] })
  if (code === 'password_change_required') queries.setQueryData(mustChangeKey, true)
}
