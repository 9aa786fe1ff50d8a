import { setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'

const waitMs = 5_000
const pauseMs = 20

/** Returns the result of `work`. While another process locks the store, retries for 5 s; the event loop runs in between. */
export function waitForLock<T>(work: () => T, until = performance.now() + waitMs): T | Promise<T> {
  try {
    return work()
  } catch (error) {
    if (!isLocked(error) || performance.now() > until) throw error
    return setTimeout(pauseMs).then(() => waitForLock(work, until))
  }
}

const isLocked = (error: unknown): boolean =>
  error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)
