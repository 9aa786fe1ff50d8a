// A real HTTP server on loopback that records its requests.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly path: string
  readonly json: { readonly id: string; readonly event: string; readonly data: Record<string, unknown> }
}

export type ResponseBehavior = number | ((response: ServerResponse) => void)

export interface Receiver {
  readonly url: string
  readonly port: number
  readonly received: readonly ReceivedRequest[]
  /** Sets the response of later requests: a status, or a function. Default: 200. */
  answer(behavior: ResponseBehavior): void
  /** Resolves with request number `count`, starting at 1. */
  until(count: number): Promise<ReceivedRequest>
}

/** Opens a receiver. With a certificate it serves HTTPS as localhost. */
export async function openReceiver(
  t: Pick<Test, 'teardown'>,
  certificate?: { readonly cert: string; readonly key: string }
): Promise<Receiver> {
  const received: ReceivedRequest[] = []
  const waiting = new Set<() => void>()
  let behavior: ResponseBehavior = 200
  const serve: RequestListener = async (request, response) => {
    const body = await text(request)
    received.push({ headers: request.headers, text: body, path: request.url ?? '', json: JSON.parse(body) })
    for (const check of waiting) check()
    if (typeof behavior === 'function') behavior(response)
    else
      response.writeHead(behavior, behavior < 400 && behavior >= 300 ? { location: '/elsewhere' } : {}).end()
  }
  const server = certificate ? createTls(certificate, serve) : createServer(serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: certificate ? `https://localhost:${port}/hook` : `http://127.0.0.1:${port}/hook`,
    port,
    received,
    answer(next) {
      behavior = next
    },
    until: count =>
      new Promise(resolve => {
        const check = (): void => {
          const last = received[count - 1]
          if (!last) return
          waiting.delete(check)
          resolve(last)
        }
        waiting.add(check)
        check()
      })
  }
}
