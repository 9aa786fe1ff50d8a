// Serves /metrics and the pages of plugins without authentication.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import { listenFault, parseListen } from '../../kernel/platform/listen-fault.ts'
import { boundConnections, type HostCheck, receiveLimits } from '../http/listener-exports.ts'
import { contentType } from './format.ts'
import type { Page } from './page.ts'
import type { Scrape } from './scrape.ts'

interface Options {
  readonly clock: Clock
  readonly log: Log
  readonly listen: string
  readonly isKnownHost: HostCheck
  readonly scrape: Scrape
  readonly pages?: readonly Page[]
}

const limits = { ...receiveLimits, requestTimeout: 10_000, keepAliveTimeout: 5_000 }
const maxConnections = 64

export async function openListener({ listen, isKnownHost, scrape, pages = [], clock, log }: Options) {
  const server = createServer(limits)
  boundConnections({
    server,
    max: maxConnections,
    clock,
    handle: handle([metricsPage(scrape), ...pages], isKnownHost, log)
  })
  try {
    server.listen(parseListen(listen))
    await once(server, 'listening')
  } catch (cause) {
    throw listenFault('metrics_listen', listen, cause)
  }
  async function close(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { port: (server.address() as AddressInfo).port, close } // of a TCP listener
}

const metricsPage = (scrape: Scrape): Page => ({
  path: '/metrics',
  read: async () => ({ status: 200, type: contentType, body: await scrape() })
})

function handle(pages: readonly Page[], isKnownHost: HostCheck, log: Log): RequestListener {
  return ({ method, url = '', headers: { host }, socket }, response) => {
    if (!isKnownHost(host, socket.localAddress)) {
      response.writeHead(421).end('unknown host; send an address, localhost or a configured name\n')
      return
    }
    const page = pages.find(({ path }) => path === url.split('?', 1)[0])
    if (!page) {
      response.writeHead(404).end(`not found; see ${pages.map(({ path }) => path).join(', ')}\n`)
      return
    }
    if (method !== 'GET' && method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
      return
    }
    const send = async (): Promise<void> => {
      const { status, type, body } = await page.read()
      response.writeHead(status, { 'content-type': type })
      if (method !== 'HEAD') return pipeline(body, response)
      if (body instanceof Readable) body.destroy()
      response.end()
    }
    send().catch((error: unknown) => {
      log.debug('metrics.not_sent', String(error))
      response.destroy()
    })
  }
}
