import { AsyncLocalStorage } from 'node:async_hooks'

/** Id of the operator's request being served. Log lines and messages on the control stream carry it. */
export const currentRequestId = new AsyncLocalStorage<string>()
