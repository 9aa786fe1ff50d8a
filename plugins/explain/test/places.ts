// Targets with faults, on this host.
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import type { Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** Makes a certificate for other.example. */
export function makeCertificate(dir: string): Certificate {
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  execFileSync(
    'openssl',
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other.example -addext subjectAltName=DNS:other.example -keyout ${key} -out ${cert}`.split(
      ' '
    ),
    { stdio: 'ignore' }
  )
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

type Folder = Pick<Test, 'teardown'>

/** Opens a TCP server; returns its port. */
export async function openTarget(t: Folder, serve: (socket: Socket) => void, port = 0): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port // of a TCP server
}

/** Opens a TLS server with a certificate; returns its port. */
export async function openTlsTarget(
  t: Folder,
  { key, cert }: Certificate,
  serve: (socket: Duplex) => void = () => {}
): Promise<number> {
  const server = createTlsServer({ key, cert }, socket => {
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port // of a TCP server
}

export function openUdpTarget(t: Folder, answer: string | null): Promise<number> {
  return openAnswering(t, () => (answer === null ? [] : [answer]))
}

/** Opens a UDP server that sends what `answers` returns for a datagram; returns its port. */
export async function openAnswering(
  t: Folder,
  answers: (datagram: Buffer) => readonly string[]
): Promise<number> {
  const socket = createSocket('udp4')
  socket.on('message', (datagram, { port, address }) => {
    for (const answer of answers(datagram)) socket.send(answer, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return socket.address().port
}

const listener = `
  require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    process.stdout.write(String(this.address().port))
  })`

/** Returns a port with a full listen queue: the kernel drops new SYN packets. */
export async function openSilentPort(t: Folder): Promise<number> {
  const child = spawnChild(process.execPath, ['-e', listener], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => void child.kill('SIGKILL'))
  const port = Number(String((await once(child.stdout, 'data'))[0]))
  child.kill('SIGSTOP')
  const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  t.teardown(() => sockets.forEach(socket => void socket.destroy()))
  await Promise.all(sockets.slice(0, 2).map(socket => once(socket, 'connect')))
  return port
}

/** Connects, writes, and resolves when the connection has ended. */
export async function call(port: number, bytes: Buffer | string = ''): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  if (bytes.length > 0) socket.write(bytes)
  await new Promise(resolve => socket.once('close', resolve))
}

/** Sends datagrams of these sizes, and resolves with the answer `until`, or any where that is null. */
export async function exchange(
  t: Folder,
  port: number,
  { sizes, until }: { readonly sizes: readonly number[]; readonly until: string | null }
): Promise<void> {
  const socket = createSocket('udp4')
  t.teardown(() => void socket.close())
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.on('message', answer => {
    if (until === null || String(answer) === until) resolve()
  })
  for (const size of sizes) socket.send(Buffer.alloc(size), port, '127.0.0.1')
  await promise
}

/** Opens connections that stay. */
export async function hold(t: Folder, port: number, from = '127.0.0.1'): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  socket.on('error', () => {})
  t.teardown(() => void socket.destroy())
  await once(socket, 'data')
}

/** Calls from an address, and resolves when the call is refused. Throws if somebody answers. */
export async function refused(port: number, from: string, bytes = ''): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  socket.on('error', () => {})
  if (bytes !== '') socket.write(bytes)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.on('data', data => reject(new Error(`port ${port} answers ${from}: ${data}`)))
  socket.once('close', () => resolve())
  await promise
}
