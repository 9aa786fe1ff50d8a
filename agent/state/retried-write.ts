import type { Clock } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'

const retryMs = 1_000

/** A write that is repeated until it succeeds: the disk may be full, or another process has locked the database. */
export interface RetriedWrite {
  /** Writes now. If that fails, retries each second. Never throws. */
  run(): void
  /** Writes a last time. */
  close(): void
}

/** `onFailure` is called for the first of several failures in a row. */
export function openRetriedWrite(
  clock: Clock,
  write: () => void,
  onFailure: (error: unknown) => void
): RetriedWrite {
  let isFailing = false
  let isClosed = false
  let cancelRetry: Release | null = null

  function run(): void {
    void cancelRetry?.()
    cancelRetry = null
    try {
      write()
      isFailing = false
    } catch (error) {
      if (!isFailing) onFailure(error)
      isFailing = true
      if (!isClosed) cancelRetry = clock.after(retryMs, run)
    }
  }

  return {
    run,
    close() {
      isClosed = true
      run()
    }
  }
}
