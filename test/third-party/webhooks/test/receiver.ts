// A real HTTP server on loopback that keeps the requests it receives.
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
  readonly got: readonly ReceivedRequest[]
  /** Sets the response of later requests: a status, or a function. Default: 200. */
  answer(how: ResponseBehavior): void
  /** Resolves with request number `count`, from 1. */
  until(count: number): Promise<ReceivedRequest>
}

/** With a certificate it serves HTTPS, as localhost. */
export async function receiver(
  t: Pick<Test, 'teardown'>,
  certificate?: { readonly cert: string; readonly key: string }
): Promise<Receiver> {
  const got: ReceivedRequest[] = []
  const waiting = new Set<() => void>()
  let how: ResponseBehavior = 200
  const serve: RequestListener = async (request, response) => {
    const body = await text(request)
    got.push({ headers: request.headers, text: body, path: request.url ?? '', json: JSON.parse(body) })
    for (const look of waiting) look()
    if (typeof how === 'function') how(response)
    else response.writeHead(how, how < 400 && how >= 300 ? { location: '/elsewhere' } : {}).end()
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
    got,
    answer(next) {
      how = next
    },
    until: count =>
      new Promise(resolve => {
        const look = (): void => {
          const last = got[count - 1]
          if (!last) return
          waiting.delete(look)
          resolve(last)
        }
        waiting.add(look)
        look()
      })
  }
}
