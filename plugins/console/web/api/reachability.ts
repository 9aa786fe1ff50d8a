// Whether the server answers. Every call reports its result, and watch-server.ts polls each second.
import { useSyncExternalStore } from 'react'

let answeredAt = Date.now()
let lostAt: number | null = null // time of the last answer while the server is lost, else null
const listeners = new Set<() => void>()
const returns = new Set<() => void>()

function set(value: number | null): void {
  if (value === lostAt) return
  const isBack = value === null
  lostAt = value
  for (const listener of listeners) listener()
  if (isBack) for (const work of returns) work()
}

export function reportAnswer(): void {
  answeredAt = Date.now()
  set(null)
}

/** `since`: start of the unanswered request. A later answer to another request proves that the server is there. */
export function reportLoss(since: number): void {
  if (lostAt === null && answeredAt < since) set(answeredAt)
}

/** Calls `work` each time the server answers again. Returns a function that unsubscribes. */
export function onReturn(work: () => void): () => void {
  returns.add(work)
  return () => returns.delete(work)
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns the time of the last answer (ms) while the server is lost, else null. */
export const useLostAt = (): number | null => useSyncExternalStore(subscribe, () => lostAt)
