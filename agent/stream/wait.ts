import { once } from 'node:events'
import type { Clock } from '../../kernel/base/clock.ts'

/** Resolves when `signal` is aborted. */
export async function aborted(signal: AbortSignal): Promise<null> {
  if (!signal.aborted) await once(signal, 'abort')
  return null
}

/** Resolves after `ms` milliseconds, or when `signal` is aborted, whichever comes first. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
