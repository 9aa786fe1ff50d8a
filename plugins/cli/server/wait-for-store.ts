import { systemClock } from '../../../kernel/base/clock.ts'
import { Fault, storeOutcomeUnknown, storeUnavailable } from '../../../kernel/base/errors.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Database } from '../../../kernel/store/open.ts'
import { openStoreWaitServer } from '../../http/exports.ts'

interface Options {
  readonly open: () => Promise<Database>
  readonly keys: object // validated keys of the server
  readonly log: Log
  readonly signal: AbortSignal
}

const firstPauseMs = 500
const lastPauseMs = 5_000
const logMs = 60_000
const transient = [storeUnavailable, storeOutcomeUnknown]

/**
 * Opens the store, and retries while it is offline. Until then, a stand-in server answers API requests. Rejects with an error
 * that a retry does not solve, or with the reason of `signal`.
 */
export async function waitForStore({ open, keys, log, signal }: Options): Promise<Database> {
  const stopped = whenAborted(signal)
  let reason = 'the store is being opened'
  let loggedAt = Number.NEGATIVE_INFINITY
  const close = await openStoreWaitServer({ keys, clock: systemClock, reason: () => reason })
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, lastPauseMs)) {
      try {
        return await Promise.race([open(), stopped])
      } catch (error) {
        if (!(error instanceof Fault && transient.includes(error.errorCode))) throw error
        reason = error.message
      }
      if (systemClock.monotonic() - loggedAt >= logMs) {
        loggedAt = systemClock.monotonic()
        log.warn('store.awaited', `the server waits for its store: ${reason}`)
      }
      await Promise.race([pause(pauseMs * (0.5 + Math.random() / 2)), stopped])
    }
  } finally {
    await close()
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => systemClock.after(ms, resolve))

/** Rejects with the reason of the signal. */
function whenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal.reason)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  promise.catch(() => {}) // it may reject when nobody awaits it
  return promise
}
