// Whether the server answers. Every call tells, and changes.ts asks each second.
import { useSyncExternalStore } from 'react'

let answeredAt = Date.now()
let lostAt: number | null = null // when it last answered, if it does not
const listeners = new Set<() => void>()
const returns = new Set<() => void>()

function set(value: number | null): void {
  if (value === lostAt) return
  const isBack = value === null
  lostAt = value
  for (const listener of listeners) listener()
  if (isBack) for (const work of returns) work()
}

export function answered(): void {
  answeredAt = Date.now()
  set(null)
}

/** `since`: when it was asked what it has not answered. An answer to something else shows that it is there. */
export function unanswered(since: number): void {
  if (lostAt === null && answeredAt < since) set(answeredAt)
}

/** Calls `work` whenever the server answers again. */
export function onReturn(work: () => void): () => void {
  returns.add(work)
  return () => returns.delete(work)
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns since when no server has answered (ms), or null. */
export const useLostAt = (): number | null => useSyncExternalStore(subscribe, () => lostAt)
