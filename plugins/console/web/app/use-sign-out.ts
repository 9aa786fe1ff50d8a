import { useMutation } from '@tanstack/react-query'
import { call } from '../api/call.ts'
import { queries } from '../api/query-client.ts'

/** Ends the session. What the page has read goes with it: the next user of the browser sees nothing of it. */
export const useSignOut = () =>
  useMutation({
    mutationFn: () => call('POST /v1/auth/logout'),
    onSettled: () => queries.resetQueries()
  })
