// Whether the server answers. Every call tells; while it does not answer, it is asked again and again.
import { useSyncExternalStore } from 'react'

let lostAt: number | null = null
const listeners = new Set<() => void>()

function set(value: number | null): void {
  if ((value === null) === (lostAt === null)) return
  lostAt = value
  for (const listener of listeners) listener()
}

export const answered = (): void => set(null)
export const unanswered = (): void => set(Date.now())

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns since when no server has answered (ms), or null. */
export const useLostAt = (): number | null => useSyncExternalStore(subscribe, () => lostAt)

/** Asks the server every 3 s while the page is seen, so that a lost connection shows without a click. */
export function watchServer(): () => void {
  const ask = (): void => {
    if (document.hidden) return
    fetch('/livez', { signal: AbortSignal.timeout(2500), cache: 'no-store' }).then(answered, unanswered)
  }
  const timer = setInterval(ask, 3000)
  document.addEventListener('visibilitychange', ask)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', ask)
  }
}
