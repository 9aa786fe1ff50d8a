// One delivery attempt: a signed POST without redirects, with a deadline and a limit for the response body.
import { type IncomingMessage, request as requestPlain } from 'node:http'
import { type RequestOptions, request as requestTls } from 'node:https'
import type { Clock } from 'sluice/plugin'
import { lookupPublic, refusePrivate } from './address.ts'
import type { Endpoint } from './endpoints.ts'
import { sign } from './signature.ts'

export interface Payload {
  readonly id: string
  readonly body: string
}

export type Outcome =
  | { readonly result: 'delivered'; readonly status: number }
  | { readonly result: 'failed' | 'interrupted'; readonly status: number | null; readonly error: string }

const deadlineMs = 10_000
const maxReplyBytes = 4_096

/** Sends one payload to an endpoint. Never throws; `stop` interrupts the attempt. */
export type Post = (endpoint: Endpoint, payload: Payload, stop: AbortSignal) => Promise<Outcome>

export function openPost({ clock }: { readonly clock: Clock }): Post {
  const lookup = lookupPublic()

  return async function post(endpoint, payload, stop) {
    const timeout = new AbortController()
    const cancel = clock.after(deadlineMs, () => timeout.abort())
    try {
      const signal = AbortSignal.any([stop, timeout.signal])
      const reply = await send(endpoint, payload, {
        signal,
        ...(endpoint.addresses === 'public' && { lookup })
      })
      await drain(reply)
      return outcomeOf(reply.statusCode ?? 0)
    } catch (error) {
      if (timeout.signal.aborted) return { result: 'failed', status: null, error: timeoutText }
      if (stop.aborted) return { result: 'interrupted', status: null, error: 'the server stops' }
      return { result: 'failed', status: null, error: messageOf(error) }
    } finally {
      await cancel()
    }
  }

  function send(endpoint: Endpoint, payload: Payload, options: RequestOptions): Promise<IncomingMessage> {
    const { url, addresses } = endpoint
    if (addresses === 'public') refusePrivate(url)
    const headers = headersOf(endpoint, payload, Math.floor(clock.now() / 1000))
    const request = url.protocol === 'https:' ? requestTls : requestPlain
    return new Promise((resolve, reject) => {
      request(url, { ...options, method: 'POST', headers, agent: false })
        .on('error', reject)
        .on('response', resolve)
        .end(payload.body)
    })
  }
}

const headersOf = ({ key }: Endpoint, { id, body }: Payload, timestampSecs: number) => ({
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(body),
  'user-agent': 'sluice-webhooks/1',
  'webhook-id': id,
  'webhook-timestamp': String(timestampSecs),
  'webhook-signature': sign(key, { id, timestampSecs, body })
})

/** Discards the body, so that the connection closes cleanly. Cuts off a body over the limit. */
async function drain(reply: IncomingMessage): Promise<void> {
  const chunks: AsyncIterable<Buffer> = reply
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > maxReplyBytes) return
    }
  } catch {
    // The status decides, even if the body fails.
  }
}

function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 300) return { result: 'delivered', status }
  const why = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return { result: 'failed', status, error: `response status ${status}${why}` }
}

const timeoutText = `no answer within ${deadlineMs / 1000} s`

/** If all of several addresses fail, Node's error has only a code. */
const messageOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : ''
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return (message || code || 'the request failed').slice(0, 255)
}
