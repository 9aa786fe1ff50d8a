import { AsyncLocalStorage } from 'node:async_hooks'

/** Id of the current operator request. Log lines and control stream messages carry it. */
export const currentRequestId = new AsyncLocalStorage<string>()
export const currentPayer = new AsyncLocalStorage<{ readonly name: string; charge(ms: number): void }>() // the user or address that causes the current work
