import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'

/**
 * Relays to a database. `cutAt` closes the next connection that sends the text, after the database has answered.
 * `beSilent` closes all connections; from then on nothing answers.
 */
export async function proxyTo(t: Pick<Test, 'teardown'>, place: PostgresPlace) {
  const { hostname, port, pathname, username } = new URL(place.url)
  const sockets = new Set<Socket>()
  let cutText: string | null = null
  let isSilent = false
  let received = 0
  const server = createServer(client => {
    if (isSilent) return void sockets.add(client.on('error', () => {}))
    const database = dial(Number(port), hostname)
    let isCutting = false
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => (socket === client ? database : client).destroy())
    }
    client.on('data', data => {
      received++
      isCutting ||= cutText !== null && data.includes(cutText)
      database.write(data)
    })
    database.on('data', data => {
      if (!isCutting) return client.write(data)
      cutText = null
      return client.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port: own } = server.address() as { port: number }
  return {
    place: { url: `postgres://${username}@127.0.0.1:${own}${pathname}`, password: undefined },
    received: () => received,
    cutAt(text: string) {
      cutText = text
    },
    beSilent() {
      isSilent = true
      for (const socket of sockets) socket.destroy()
    }
  }
}
