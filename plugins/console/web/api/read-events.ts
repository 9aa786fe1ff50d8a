import { readError } from './api-error.ts'
import { sessionKeyHeader } from './session-key.ts'

/**
 * Calls `onEvent` for each server-sent event until the stream ends. Throws ApiError if the server refuses the stream, and
 * when `signal` aborts. An EventSource could not send the session key.
 */
export async function readEvents(
  url: string,
  signal: AbortSignal,
  onEvent: (name: string, data: string) => void
): Promise<void> {
  const response = await fetch(url, { headers: sessionKeyHeader(), signal, cache: 'no-store' })
  if (!response.ok || response.body === null) throw await readError(response)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let unread = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = `${unread}${part.value}`.split('\n\n')
    unread = events.pop() ?? ''
    for (const event of events) onEvent(fieldIn(event, 'event'), fieldIn(event, 'data'))
  }
}

/** Returns a field of an event; empty if it has none, as a keep-alive. The server writes data in one line. */
const fieldIn = (event: string, name: 'event' | 'data'): string =>
  new RegExp(`^${name}: ?(.*)$`, 'm').exec(event)?.[1] ?? ''
