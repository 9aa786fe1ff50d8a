// Requests to a provider: 5 s, 1 MiB, no redirects.
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { rootCertificates } from 'node:tls'
import { reasonOf } from '../../../kernel/base/errors.ts'
import { isSafe } from './provider-config.ts'

const timeoutMs = 5_000
const maxBytes = 1024 * 1024

/** The provider did not answer, or not as a provider does. The message has nothing of a token. */
export class ProviderUnavailable extends Error {}

interface Request {
  readonly method?: string
  readonly headers: Headers | Readonly<Record<string, string>>
  readonly body?: unknown // text, or what String() makes a form of
}

export type ProviderFetch = (url: string, request: Request) => Promise<Response>

interface Options {
  readonly authorities: string | null // PEM, additional ones
  readonly report: (ms: number) => void // takes the duration of each request
  readonly now: () => number // monotonic, in ms
}

/** Returns a `fetch` for one provider. It rejects with ProviderUnavailable, also for redirects and errors of the provider's server. */
export const openProviderFetch =
  ({ authorities, report, now }: Options): ProviderFetch =>
  async (url, request) => {
    const target = new URL(url)
    if (!isSafe(target)) throw new ProviderUnavailable(`${target.origin} is neither https nor on loopback`)
    const startedAt = now()
    try {
      const response = await send(target, request, authorities)
      if (response.status >= 500 || (response.status >= 300 && response.status < 400))
        throw new ProviderUnavailable(`${target.origin} answered with the status ${response.status}`)
      return response
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error
      throw new ProviderUnavailable(`${target.origin} did not answer: ${reasonOf(error)}`, { cause: error })
    } finally {
      report(now() - startedAt)
    }
  }

function send(url: URL, { method = 'GET', headers, body }: Request, ca: string | null): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const text = body == null ? '' : String(body)
  const signal = AbortSignal.timeout(timeoutMs)
  signal.addEventListener('abort', () => reject(signal.reason)) // a request can end without an event
  const options = {
    method,
    headers: { ...Object.fromEntries(new Headers(headers)), 'content-length': Buffer.byteLength(text) },
    agent: false as const,
    signal
  }
  const sending =
    url.protocol === 'https:'
      ? requestTls(url, { ...options, ...(ca !== null && { ca: [...rootCertificates, ca] }) })
      : requestPlain(url, options)
  sending.on('error', reject)
  sending.on('upgrade', (_, socket) => {
    socket.destroy()
    reject(new Error('it wants another protocol'))
  })
  sending.on('response', response => {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('error', reject)
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) response.destroy(new Error(`the answer has more than ${maxBytes} bytes`))
      else chunks.push(chunk)
    })
    response.on('end', () => {
      const { statusCode: status = 0, headers: received } = response
      if (status < 200 || status > 599) return reject(new Error(`the status is ${status}`))
      const type = received['content-type']
      const hasBody = status !== 204 && status !== 205 && status !== 304
      resolve(
        new Response(hasBody ? Buffer.concat(chunks) : null, {
          status,
          headers: type === undefined ? {} : { 'content-type': type }
        })
      )
    })
  })
  sending.end(text)
  return promise
}
