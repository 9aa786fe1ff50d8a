import { AsyncLocalStorage } from 'node:async_hooks'

/** Id of the operator's request being served. Log lines and messages on the control stream carry it. */
export const currentRequestId = new AsyncLocalStorage<string>()
/** Trace id of the request being served, where its caller sent one. */
export const currentTraceId = new AsyncLocalStorage<string>()
