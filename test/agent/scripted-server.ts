// A control server with scripted answers.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import type { Static } from 'typebox'
import { messages as enrollment, Redeem, type Redeemed } from '../../agent/wire/enrollment.ts'
import { type Clock, systemClock } from '../../kernel/base/clock.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import {
  alpn,
  controlMessages,
  Ended,
  Hello,
  ObjectRemoved,
  ObjectStatus,
  type Welcome
} from '../../kernel/wire/control.ts'
import { wireMessages } from '../../kernel/wire/envelope.ts'
import { bindHandlers, type Codec, type Message, on, Refused, respond } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import { openCertificate } from '../../plugins/certificate/certificate.ts'
import { recordLog } from './recorded-log.ts'

type HelloBody = Static<typeof Hello.body>
type WelcomeBody = Static<typeof Welcome.body>

export interface AgentConnection {
  readonly hello: HelloBody
  readonly channel: MessageChannel
  readonly removed: Static<typeof ObjectRemoved.body>[]
  readonly statuses: Static<typeof ObjectStatus.body>[]
  readonly ended: AbortSignal
  /** Sends Ended with the code and ends the stream. */
  dismiss(code: string, more?: { readonly retry_within_ms?: number }): void
  /** Destroys the socket without a message. */
  cut(): void
}

export interface ScriptedServer {
  readonly endpoint: string
  readonly fingerprint: string
  /** Bodies of all Hello requests, also of refused ones. */
  readonly hellos: HelloBody[]
  readonly redeems: Static<typeof Redeem.body>[]
  /** Overrides members of Welcome; may be changed at any time. */
  welcome: Partial<WelcomeBody>
  onHello: (hello: HelloBody) => void
  onRedeem: (body: Static<typeof Redeem.body>) => Promise<Static<typeof Redeemed.body>>
  /** Resolves with the next connection that is welcomed. */
  next(): Promise<AgentConnection>
  close(): Promise<void>
}

interface Options {
  readonly messages?: readonly Message[]
  readonly dir?: string
  readonly port?: number
  readonly clock?: Clock // of its heartbeats; default: real time
}

/** Welcomed connections; queued until someone waits for them. */
function connectionQueue() {
  const connections: AgentConnection[] = []
  const waiting: ((connection: AgentConnection) => void)[] = []
  return {
    add(connection: AgentConnection): void {
      const resolve = waiting.shift()
      if (resolve) resolve(connection)
      else connections.push(connection)
    },
    next: () =>
      new Promise<AgentConnection>(resolve => {
        const connection = connections.shift()
        if (connection) resolve(connection)
        else waiting.push(resolve)
      })
  }
}

interface ServeOptions {
  readonly codec: Codec
  readonly clock: Clock
  readonly script: ScriptedServer
  readonly welcomed: (connection: AgentConnection) => void
}

function serve(socket: TLSSocket, { codec, clock, script, welcomed }: ServeOptions): void {
  const removed: AgentConnection['removed'] = []
  const statuses: AgentConnection['statuses'] = []
  const handlers = [
    respond(Hello, async (_: null, hello) => {
      script.hellos.push(hello)
      script.onHello(hello)
      const { channel, ended, end } = stream
      const dismiss: AgentConnection['dismiss'] = (code, more = {}) => {
        channel.send(Ended, { code, message: code, ...more })
        end(code)
      }
      const cut = () => socket.destroy()
      setImmediate(welcomed, { hello, channel, removed, statuses, ended, dismiss, cut })
      return { ...welcomeOf(), ...script.welcome }
    }),
    respond(Redeem, async (_: null, body) => {
      script.redeems.push(body)
      return script.onRedeem(body)
    }),
    on(ObjectRemoved, async (_: null, body) => void removed.push(body)),
    on(ObjectStatus, async (_: null, body) => void statuses.push(body))
  ]
  const stream: Stream = new Stream({
    socket,
    codec,
    clock,
    log: recordLog(),
    handlers: bindHandlers(handlers, () => null)
  })
}

export async function scriptedServer(t: Test, options: Options = {}): Promise<ScriptedServer> {
  const { cert, key, fingerprint } = await openCertificate(options.dir ?? t.testdir(), { names: [] })
  const codec = openCodec([...wireMessages, ...controlMessages, ...enrollment, ...(options.messages ?? [])])
  const connections = connectionQueue()
  const sockets = new Set<TLSSocket>()
  const tls = createTlsServer({ cert, key, minVersion: 'TLSv1.3', ALPNProtocols: [alpn] }, socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(socket, { codec, clock: options.clock ?? systemClock, script, welcomed: connections.add })
  })
  tls.listen(options.port ?? 0, '127.0.0.1')
  await once(tls, 'listening')
  let isOpen = true
  async function close(): Promise<void> {
    if (!isOpen) return
    isOpen = false
    for (const socket of sockets) socket.destroy()
    tls.close()
    await once(tls, 'close')
  }
  t.teardown(close)

  const { port } = tls.address() as AddressInfo // a TCP address
  const script: ScriptedServer = {
    endpoint: `127.0.0.1:${port}`,
    fingerprint,
    hellos: [],
    redeems: [],
    welcome: {},
    onHello: () => {},
    onRedeem: async () => {
      throw new Refused('enrollment_invalid', 'unknown code')
    },
    next: connections.next,
    close
  }
  return script
}

const welcomeOf = (): WelcomeBody => ({
  server_version: '2.0.0',
  server_time_ms: Date.now(),
  session_id: 'session',
  generation: 'generation-a',
  kinds: ['rule'],
  parts: {}
})

/** Returns an endpoint on which nothing listens. */
export async function deadEndpoint(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP address
  server.close()
  return `127.0.0.1:${port}`
}
