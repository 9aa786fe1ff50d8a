// One attempt: a signed POST, no redirects, a deadline over all of it, and little patience with what comes back.
import { type IncomingMessage, request as requestPlain } from 'node:http'
import { type RequestOptions, request as requestTls } from 'node:https'
import type { Clock } from 'sluice/plugin'
import { lookupPublic, refusePrivate } from './address.ts'
import type { Endpoint } from './endpoints.ts'
import { sign } from './signature.ts'

export interface Parcel {
  readonly id: string
  readonly body: string
}

export type Outcome =
  | { readonly is: 'delivered'; readonly status: number }
  | { readonly is: 'failed'; readonly status: number | null; readonly error: string }

const deadlineMs = 10_000
const maxReplyBytes = 4_096

export type Post = ReturnType<typeof openPost>

export function openPost({ clock }: { readonly clock: Clock }) {
  const lookup = lookupPublic()

  return async function post(endpoint: Endpoint, parcel: Parcel, stop: AbortSignal): Promise<Outcome> {
    const late = new AbortController()
    const cancel = clock.after(deadlineMs, () => late.abort())
    try {
      const signal = AbortSignal.any([stop, late.signal])
      const reply = await send(endpoint, parcel, { signal, ...(endpoint.reach === 'public' && { lookup }) })
      await drain(reply)
      return judge(reply.statusCode ?? 0)
    } catch (error) {
      return { is: 'failed', status: null, error: late.signal.aborted ? tooLate : said(error) }
    } finally {
      await cancel()
    }
  }

  function send(endpoint: Endpoint, parcel: Parcel, options: RequestOptions): Promise<IncomingMessage> {
    const { url, reach } = endpoint
    if (reach === 'public') refusePrivate(url)
    const headers = headersOf(endpoint, parcel, Math.floor(clock.now() / 1000))
    const request = url.protocol === 'https:' ? requestTls : requestPlain
    return new Promise((resolve, reject) => {
      request(url, { ...options, method: 'POST', headers, agent: false })
        .on('error', reject)
        .on('response', resolve)
        .end(parcel.body)
    })
  }
}

const headersOf = ({ key }: Endpoint, { id, body }: Parcel, atSecs: number) => ({
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(body),
  'user-agent': 'sluice-webhooks/1',
  'webhook-id': id,
  'webhook-timestamp': String(atSecs),
  'webhook-signature': sign(key, { id, atSecs, body })
})

/** So that a polite server sees an orderly end; what it says is of no interest, and an endless answer is cut. */
async function drain(reply: IncomingMessage): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of reply) {
      bytes += (chunk as Buffer).length
      if (bytes > maxReplyBytes) return
    }
  } catch {
    // The status was there before: it is the answer, however its body ended.
  }
}

function judge(status: number): Outcome {
  if (status >= 200 && status < 300) return { is: 'delivered', status }
  const why = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return { is: 'failed', status, error: `it answered ${status}${why}` }
}

const tooLate = `no answer within ${deadlineMs / 1000} s`

/** Of several addresses that all failed, Node's error has only a code. */
const said = (error: unknown): string => {
  const { message = '', code = '' } = error as NodeJS.ErrnoException // whatever a socket throws is an Error
  return (message || code || 'it failed').slice(0, 255)
}
