import { Readable } from 'node:stream'
import type { ServerEvent } from '../../kernel/http/stream-route.ts'
import type { HttpOptions } from './options.ts'

const commentMs = 15_000
const retryMs = 5_000 // how long a caller waits before it reconnects
const maxUnreadBytes = 256 * 1024

export type Events = AsyncIterable<ServerEvent<unknown>>

/** Returns the body of a response of server-sent events. Aborts `ended` when a slow reader leaves too much unread. */
export function eventStreamBody(
  events: Events,
  ended: AbortController,
  clock: HttpOptions['clock']
): Readable {
  const body = new Readable({ read() {} })
  const write = (text: string): void => {
    if (body.readableLength > maxUnreadBytes) ended.abort()
    if (!ended.signal.aborted) body.push(text)
  }
  const stopComments = clock.every(commentMs, () => write(': still here\n\n'))
  ended.signal.addEventListener('abort', () => {
    stopComments()
    body.push(null)
  })
  write(`retry: ${retryMs}\n\n`)
  void writeEvents(events, write).then(
    () => ended.abort(),
    error => body.destroy(error)
  )
  return body.once('close', () => ended.abort())
}

async function writeEvents(events: Events, write: (text: string) => void): Promise<void> {
  let id = 0
  for await (const { event, data } of events)
    write(`id: ${++id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
