// The events of the stream, for as long as somebody looks: a connection that is lost is made again.
import { systemClock } from '../../../kernel/base/clock.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import type { ConnectionsEvent } from '../schema.ts'
import type { Sort } from '../wire.ts'
import { type Filters, queryOf } from './filter.ts'

const silenceMs = 5_000 // events come each second
const againMs = 1_000

export interface Question {
  readonly filter: Filters
  readonly sort: Sort
  readonly limit: number
}

interface Feed {
  onEvent(event: ConnectionsEvent): void
  /** Called for each attempt that has failed, and when the connection is lost. */
  onLost(cause: string): void
}

/** Resolves when the signal aborts. Throws what the server refuses: the question, the credential, or the caller. */
export async function follow(
  api: Api,
  question: Question,
  { onEvent, onLost }: Feed,
  signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    const cause = await once(api, question, onEvent, signal)
    if (signal.aborted) return
    onLost(cause)
    await rest(signal)
  }
}

/** Resolves after a while, or when the signal aborts. */
function rest(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = systemClock.after(againMs, resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(cancel)
}

/** Reads one connection to its end, and returns why it has ended. */
async function once(
  api: Api,
  { filter, sort, limit }: Question,
  onEvent: Feed['onEvent'],
  signal: AbortSignal
): Promise<string> {
  const silent = new AbortController()
  const watch = () => systemClock.after(silenceMs, () => silent.abort())
  let unwatch = watch()
  const query = { ...queryOf(filter), sort, limit }
  const either = AbortSignal.any([signal, silent.signal])
  try {
    for await (const { data } of api.events('GET /v1/connections/stream', { query }, either)) {
      unwatch()
      unwatch = watch()
      onEvent(data)
    }
    return silent.signal.aborted ? `no event for ${silenceMs / 1000} s` : 'the server has ended the stream'
  } catch (error) {
    if (!(error instanceof Fault) || isRefusal(error)) throw error
    return error.message
  } finally {
    unwatch()
  }
}

/** What would be refused again. */
const isRefusal = ({ errorCode: { http } }: Fault): boolean => http >= 400 && http < 500 && http !== 429
