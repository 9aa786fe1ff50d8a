import type { Clock } from '../../kernel/base/clock.ts'

/** Resolves when `signal` is aborted. */
export const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise(resolve => {
    if (signal.aborted) return resolve(null)
    signal.addEventListener('abort', () => resolve(null), { once: true })
  })

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
