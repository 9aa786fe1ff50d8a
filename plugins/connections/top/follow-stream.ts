// Follows the event stream and reconnects when it is lost.
import { systemClock } from '../../../kernel/base/clock.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import type { ConnectionsEvent } from '../schema.ts'
import type { Sort } from '../wire.ts'
import { type Filters, loadQuery } from './filter.ts'

const silenceMs = 5_000 // events arrive every second
const retryMs = 1_000

export interface Question {
  readonly filter: Filters
  readonly sort: Sort
  readonly limit: number
}

interface Feed {
  onEvent(event: ConnectionsEvent): void
  /** Called when the connection is lost, and after each failed attempt. */
  onLost(cause: string): void
}

/** Resolves when the signal aborts. Throws if the server refuses the query, the credential or the caller. */
export async function followStream(
  api: Api,
  question: Question,
  { onEvent, onLost }: Feed,
  signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    const cause = await readStream(api, question, onEvent, signal)
    if (signal.aborted) return
    onLost(cause)
    await pause(signal)
  }
}

/** Resolves after `retryMs`, or when the signal aborts. */
function pause(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = systemClock.after(retryMs, resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(cancel)
}

/** Reads one connection to its end, and returns why it ended. */
async function readStream(
  api: Api,
  { filter, sort, limit }: Question,
  onEvent: Feed['onEvent'],
  signal: AbortSignal
): Promise<string> {
  const silent = new AbortController()
  const watch = () => systemClock.after(silenceMs, () => silent.abort())
  let unwatch = watch()
  const either = AbortSignal.any([signal, silent.signal])
  try {
    const query = { ...(await loadQuery(api, filter)), sort, limit }
    for await (const { data } of api.events('GET /v1/connections/stream', { query }, either)) {
      unwatch()
      unwatch = watch()
      onEvent(data)
    }
    return silent.signal.aborted ? `no event for ${silenceMs / 1000} s` : 'the server ended the stream'
  } catch (error) {
    if (!(error instanceof Fault) || isRefusal(error)) throw error
    return error.message
  } finally {
    unwatch()
  }
}

/** True if a retry would be refused again. */
const isRefusal = ({ errorCode: { http } }: Fault): boolean => http >= 400 && http < 500 && http !== 429
