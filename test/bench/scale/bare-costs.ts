// Measures the minimum cost of a call and of a connection. As a process, this file serves a Fastify route with one
// prepared read, and bare TLS, where it asks each connection once.
import { once } from 'node:events'
import { connect as connectRaw } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import SQLite from 'better-sqlite3'
import Fastify from 'fastify'
import { makeCertificate } from '../../../plugins/certificate/make-certificate.ts'
import { agentAddress } from './agent-address.ts'
import type { CallersOrder, LoadResult } from './callers.ts'
import { cpuMsOf, residentMiB, serveOrders, startHelper } from './processes.ts'

interface Serving {
  readonly pid: number
  readonly origin: string
  readonly tlsPort: number
}

type BareOrder = 'serve' | 'ask all'

/**
 * Returns the costs of a process that does nothing else: the CPU time of a call in ms, the memory of an idle TLS
 * connection in KiB, and the time in ms until 99 % of the connections have answered when all are asked at once.
 */
export async function bareCosts({
  calls,
  connections
}: {
  readonly calls: number
  readonly connections: number
}) {
  const server = startHelper('bare-costs.ts')
  const callers = startHelper('callers.ts')
  try {
    const { pid, origin, tlsPort } = await server.ask<Serving>({ do: 'serve' satisfies BareOrder })
    const load = { origin, token: 'none', method: 'GET', path: '/me', body: null, from: 0, calls, callers: 8 }
    const callAll = async (): Promise<number> => {
      const before = cpuMsOf(pid)
      await callers.ask({ begin: load } satisfies CallersOrder)
      await callers.ask<LoadResult>({ end: 'done' } satisfies CallersOrder)
      return (cpuMsOf(pid) - before) / calls
    }
    await callAll()
    const callMs = await callAll()
    const before = residentMiB(pid)
    const sockets = await connectAll(tlsPort, connections)
    const connectionKiB = ((residentMiB(pid) - before) * 1024) / connections
    for (const socket of sockets) socket.on('data', () => socket.write(answer))
    const { ms: askedMs } = await server.ask<{ ms: number }>({ do: 'ask all' satisfies BareOrder })
    for (const socket of sockets) socket.destroy()
    return { callMs, connectionKiB, askedMs }
  } finally {
    await Promise.all([server.end(), callers.end()])
  }
}

const question = Buffer.alloc(64)
const answer = Buffer.alloc(16)
const connected = new Set<TLSSocket>()
let answered = (): void => {}

async function connectAll(port: number, count: number) {
  const sockets = []
  for (let at = 0; at < count; at++) {
    const raw = connectRaw({ host: '127.0.0.1', port, localAddress: agentAddress(at) })
    const socket = connect({ socket: raw, minVersion: 'TLSv1.3', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    sockets.push(socket)
  }
  return sockets
}

async function serve(): Promise<Serving> {
  const db = new SQLite(':memory:')
  db.exec(`create table user (id text primary key, name text); insert into user values ('ann', 'Ann')`)
  const find = db.prepare('select id, name from user where id = ?')
  const app = Fastify()
  app.get('/me', async () => find.get('ann'))
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const tls = createServer({ ...(await makeCertificate([])), minVersion: 'TLSv1.3' }, socket => {
    connected.add(socket.on('data', () => answered()).on('error', () => {}))
  })
  tls.listen(0, '127.0.0.1')
  await once(tls, 'listening')
  const address = tls.address()
  return { pid: process.pid, origin, tlsPort: typeof address === 'object' ? (address?.port ?? 0) : 0 }
}

/** Resolves when 99 % have answered. */
async function askAll(): Promise<{ readonly ms: number }> {
  const began = performance.now()
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = Math.ceil(connected.size * 0.99)
  answered = () => {
    left -= 1
    if (left === 0) resolve()
  }
  for (const socket of connected) socket.write(question)
  await promise
  return { ms: performance.now() - began }
}

if (process.argv[1] === import.meta.filename)
  await serveOrders<{ readonly do: BareOrder }>(order => (order.do === 'serve' ? serve() : askAll()))
