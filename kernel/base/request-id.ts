import { AsyncLocalStorage } from 'node:async_hooks'

/** Id of the request for which something is done: every log line carries it, and every question to the other end. */
export const currentRequestId = new AsyncLocalStorage<string>()
