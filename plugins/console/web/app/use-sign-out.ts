import { useMutation } from '@tanstack/react-query'
import { call } from '../api/call.ts'
import { queryClient } from '../api/query-client.ts'

/**
 * Ends the session and clears all cached data, so that the next user of the browser does not see it. Leaves for the provider
 * of the session if it ends its session, too.
 */
export const useSignOut = () =>
  useMutation({
    mutationFn: () => call('POST /v1/auth/logout'),
    onSuccess: reply => reply && location.assign(reply.redirect),
    onSettled: () => queryClient.resetQueries()
  })
