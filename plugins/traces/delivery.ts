// Delivers batches to the collector, and tries again while it is away.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { postSpans } from './post-spans.ts'

export interface Delivery {
  readonly isEnding: boolean
  /** Returns null, or why the batch was given up. */
  send(url: URL, body: string): Promise<string | null>
  /** Ends pauses, further tries, and after 2 s all requests. Call the result when nothing is left to send. */
  end(): Release
}

interface Deps {
  readonly clock: Clock
  readonly log: Log
}

const retryMs = [1_000, 2_000, 4_000, 8_000, 16_000]
const lastMs = 2_000
const reportMs = 60_000

export function openDelivery({ clock, log }: Deps): Delivery {
  const cutoff = new AbortController()
  const report = openReport({ clock, log })
  let isEnding = false
  let endPause = (): void => {}

  async function pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(ms, resolve)
    endPause = resolve
    await promise
    await cancel()
  }

  return {
    get isEnding() {
      return isEnding
    },
    async send(url, body) {
      for (const pauseMs of [...retryMs, null]) {
        const { error, isFinal } = await postSpans(url, body, { clock, cutoff: cutoff.signal })
        if (error === null) return null
        report(error)
        if (isFinal || pauseMs === null || isEnding) return error
        await pause(pauseMs)
      }
      return null
    },
    end() {
      isEnding = true
      endPause()
      return clock.after(lastMs, () => cutoff.abort())
    }
  }
}

/** Returns a function that logs a failure, once a minute. */
function openReport({ clock, log }: Deps): (error: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY
  return error => {
    if (clock.monotonic() - reportedAt < reportMs) return
    reportedAt = clock.monotonic()
    log.warn('traces.failed', 'the collector took no spans; further failures are only counted', { error })
  }
}
