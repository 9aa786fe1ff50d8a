/** Resolves with null when the signal aborts. Not for a signal that outlives the wait: a listener stays on it. */
export function aborted(signal: AbortSignal): Promise<null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  if (signal.aborted) resolve(null)
  signal.addEventListener('abort', () => resolve(null), { once: true })
  return promise
}
