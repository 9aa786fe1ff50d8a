// Agents with links in one process: real TLS sockets on loopback, without engine and server.

import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { Test } from 'tap'
import type { AgentDial } from '../../../agent/plugin.ts'
import { type Clock, systemClock } from '../../../kernel/base/clock.ts'
import { type LogLine, recordLog } from '../../../kit/record-log.ts'
import type { AgentLink } from '../agent/link.ts'
import { openLinkEvents } from '../agent/link-events.ts'
import type { LinkHost } from '../agent/link-host.ts'
import { Links, type PathConnection } from '../agent/links.ts'
import type { Refusal } from '../agent/request-open.ts'
import { type LinkCertificate, makeLinkCertificate, pinOf } from '../agent/transport/make-link-certificate.ts'
import { linkContext } from '../agent/transport/tls-settings.ts'
import type { ExitPart, Link } from '../wire.ts'

export type Direction = Link['direction']

/** One agent. */
export interface Client {
  readonly id: string
  readonly links: Links
  readonly lines: LogLine[]
  port: number // on which it can listen
  pins: string[] // that the server knows
  exits: boolean // serves entries
  ports: boolean // allows the link port
  readonly certificate: () => LinkCertificate
  /** Makes a new key and uses it. */
  rotate(): void
  /** Resolves when `isTrue` holds; looks at each change of a link, at each log line, and every 10 ms. */
  until(isTrue: () => boolean): Promise<void>
}

let lastId = 0

/** Returns a new id. */
export const newTestId = (): string => `01${String(++lastId).padStart(24, '0')}`

const pinOfPem = (cert: string): string => pinOf(new X509Certificate(cert).raw)

export async function openClient(
  t: Test,
  clock: Clock = systemClock,
  dial: AgentDial = dialTarget
): Promise<Client> {
  const waiting = new Set<() => void>()
  const check = (): void => {
    for (const one of waiting) one()
  }
  const lines: LogLine[] = []
  const log = recordLog(lines, check)
  const events = openLinkEvents(log, clock)
  let certificate = makeLinkCertificate(clock.now())
  let context = linkContext(certificate)
  const id = newTestId()
  const host: LinkHost = {
    clientId: id,
    bind: ['127.0.0.1'],
    clock,
    log,
    events,
    random: () => 0.5,
    context: () => context,
    resolve: async name => [name],
    mayListen: () => client.ports,
    mayDial: address => address !== '127.0.0.9'
  }
  const links = new Links({
    host,
    dial,
    allows: () => client.exits,
    reserve: () => () => {},
    changed: check
  })
  const client: Client = {
    id,
    links,
    lines,
    port: await freePort(),
    pins: [pinOfPem(certificate.cert)],
    certificate: () => certificate,
    exits: true,
    ports: true,
    rotate() {
      certificate = makeLinkCertificate(clock.now())
      context = linkContext(certificate)
      client.pins = [pinOfPem(certificate.cert)]
    },
    until(isTrue) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = (): void => {
        if (!isTrue()) return
        waiting.delete(look)
        clearInterval(timer)
        resolve()
      }
      const timer = setInterval(look, 10)
      waiting.add(look)
      look()
      return promise
    }
  }
  t.teardown(() => {
    links.close()
    events.close()
  })
  return client
}

interface LinkOptions {
  readonly direction?: Direction
  readonly nearListens?: boolean
  readonly farListens?: boolean
  readonly nearPort?: number // at which the near client is dialed
  readonly farPort?: number
  readonly more?: Partial<Link>
}

/** Gives both ends their objects. Returns the id of the link. */
export function setLink(near: Client, far: Client, options: LinkOptions = {}, id = newTestId()): string {
  const { direction = 'auto', nearListens = true, farListens = true, more } = options
  const common = {
    id,
    direction,
    max_idle: 64,
    dead_secs: 10,
    lease_hours: 0,
    peer_hosts: ['127.0.0.1'],
    ...more
  }
  const { nearPort = near.port, farPort = far.port } = options
  near.links.set({
    ...common,
    side: 'near',
    peer_id: far.id,
    peer_name: 'far',
    peer_pins: far.pins,
    ...(nearListens && { listen_port: near.port }),
    ...(farListens && { peer_port: farPort })
  })
  far.links.set({
    ...common,
    side: 'far',
    peer_id: near.id,
    peer_name: 'near',
    peer_pins: near.pins,
    ...(farListens && { listen_port: far.port }),
    ...(nearListens && { peer_port: nearPort })
  })
  return id
}

export const linkOf = (client: Client, id: string): AgentLink => {
  const found = client.links.all.find(({ config }) => config.id === id)
  if (!found) throw new Error(`no link ${id}`)
  return found
}

export const untilUp = (client: Client, id: string): Promise<void> =>
  client.until(() => linkOf(client, id).state === 'up')

/** Gives each client of the path its part of a rule with one target. Returns the rule's id. */
export function setPath(clients: readonly Client[], port: number, ports = 1): string {
  const ruleId = newTestId()
  const [entry] = clients
  for (const [at, client] of clients.entries()) {
    const previous = clients[at - 1]
    if (!previous) continue
    const next = clients[at + 1]
    const target = {
      key: 7,
      previous: previous.id,
      ...(next ? { next: next.id } : { host: '127.0.0.1', port })
    }
    client.links.exits.set(ruleId, partOf(entry!, [target], ports))
  }
  return ruleId
}

const partOf = ({ id }: Client, targets: ExitPart['targets'], ports: number): ExitPart => ({
  entry_id: id,
  entry_name: 'entry',
  owner: 'ann',
  ports,
  prefer_ipv6: false,
  targets
})

/** Opens the target of a rule from the entry. */
export function dial(
  entry: Client,
  next: Client,
  ruleId: string,
  more: {
    readonly key?: number
    readonly offset?: number
    readonly isProbe?: boolean
    readonly signal?: AbortSignal
  } = {}
): Promise<PathConnection | Refusal> {
  const { key = 7, offset = 0, isProbe = false, signal = new AbortController().signal } = more
  return entry.links.dial({ owner: 'ann', ruleId, key, offset, next: next.id, isProbe, signal })
}

/** Dials, and returns the socket of a caller. Its bytes travel through the link. */
export async function openCaller(t: Test, entry: Client, next: Client, ruleId: string): Promise<Socket> {
  return (await openStream(t, entry, next, ruleId)).caller
}

/** Like `openCaller`, with the stream that the engine gives the plugin. */
export async function openStream(t: Test, entry: Client, next: Client, ruleId: string) {
  const dialed = await dial(entry, next, ruleId)
  if ('reason' in dialed) throw new Error(`refused: ${dialed.reason}`)
  const pair = await socketPair(t)
  dialed.carry(pair.stream)
  return pair
}

/** A caller's socket, and the stream that an engine would give the plugin. */
async function socketPair(t: Test): Promise<{ readonly caller: Socket; readonly stream: Duplex }> {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const caller = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.teardown(() => {
    caller.destroy()
    accepted.destroy()
  })
  caller.on('error', () => {})
  return { caller, stream: new EngineStream(accepted) }
}

/** Destroying it before its end is a reset, as the engine's stream has it. */
class EngineStream extends Duplex {
  readonly #socket: Socket

  constructor(socket: Socket) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    socket.on('data', bytes => {
      if (!this.push(bytes)) socket.pause()
    })
    socket.on('end', () => this.push(null))
    socket.on('error', error => this.destroy(error))
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(bytes, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.writableFinished) this.#socket.destroySoon()
    else this.#socket.resetAndDestroy()
    done(error)
  }
}

/** Dials like the agent, without its limits. */
const dialTarget: AgentDial = ({ host, port }, { signal }) => {
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<AgentDial>>>()
  const socket = connect({ host, port, allowHalfOpen: true })
  const fail = (failure: string): void => {
    resolve({ failure, isRefusal: false })
    socket.destroy()
  }
  socket.once('connect', () => resolve({ socket, address: host, dnsMs: 0.5, connectMs: 1.25 }))
  socket.on('error', () => fail('refused'))
  signal.addEventListener('abort', () => fail('canceled'))
  return promise
}

/** A target: accepts connections with half-close. Returns its port. */
export async function openTarget(t: Test, accept: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    accept(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

export const echo = (socket: Socket): void => void socket.pipe(socket)

export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Reads to the end. Rejects if the socket is reset. */
export async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk)
  return Buffer.concat(chunks)
}
