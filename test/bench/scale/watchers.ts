// Reads event streams in a separate process.
import { get, type IncomingMessage } from 'node:http'
import { serveOrders } from './processes.ts'
import type { EventStream } from './seed.ts'

export type WatchersOrder =
  | { readonly do: 'open'; readonly origin: string; readonly streams: readonly EventStream[] }
  | { readonly do: 'count' } // the events since the last count

let events = 0

function open(origin: string, { token, path }: EventStream): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  return new Promise((resolve, reject) => {
    get(new URL(path, origin), { headers, agent: false }, (reply: IncomingMessage) => {
      if (reply.statusCode !== 200) return reject(new Error(`${path}: ${reply.statusCode}`))
      reply.setEncoding('utf8').on('data', (text: string) => {
        events += text.split('event: stats').length - 1
      })
      resolve()
    }).on('error', reject)
  })
}

await serveOrders(async (order: WatchersOrder) => {
  if (order.do === 'open') {
    const { origin, streams } = order
    const atOnce = 50
    for (let at = 0; at < streams.length; at += atOnce)
      await Promise.all(streams.slice(at, at + atOnce).map(stream => open(origin, stream)))
  }
  const counted = events
  events = 0
  return { events: counted }
})
