// A hostile network. Connections to API, metrics and control port are silent, cut off, malformed or never read.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { alpn } from '../../kernel/wire/control.ts'
import { type SeededRandom, seededRandom } from '../bench/soak/seeded-random.ts'
import type { Attack, Target } from './target.ts'

type Port = 'api' | 'metrics' | 'control'

interface Visit {
  readonly socket: Socket
  readonly target: Target
  readonly random: SeededRandom
  readonly until: AbortSignal
}

interface Shape {
  readonly ports: readonly Port[]
  run(visit: Visit): Promise<void>
}

const everywhere: readonly Port[] = ['api', 'metrics', 'control']
const http: readonly Port[] = ['api', 'metrics']
const visitors = 12 // sequential connections
const unread = 500 // open at a time
const silent = 700 // open at a time, all from one address: more than the API accepts
const holdMs = 20_000

const get = (path: string, ...headers: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, 'host: localhost', ...headers].join('\r\n')}\r\n\r\n`
const post = (...headers: string[]): string =>
  `${['POST /v1/auth/login HTTP/1.1', 'host: localhost', 'content-type: application/json', ...headers].join('\r\n')}\r\n\r\n`
const smuggled = get('/v1/auth/status')

/** The server must refuse each of these, and never answer the hidden second request. */
const smuggling: readonly string[] = [
  `${post('content-length: 5', 'transfer-encoding: chunked')}0\r\n\r\n${smuggled}`,
  `${post('content-length: 0', `content-length: ${smuggled.length}`)}${smuggled}`,
  `${post('transfer-encoding : chunked')}0\r\n\r\n${smuggled}`,
  `${post('transfer-encoding: chunked, identity')}0\r\n\r\n${smuggled}`,
  `${post('transfer-encoding: xchunked')}0\r\n\r\n${smuggled}`,
  `${post('transfer-encoding: chunked')}-1\r\n\r\n${smuggled}`,
  `${post('transfer-encoding: chunked')}fffffffffffffffff\r\n${smuggled}`,
  `${post('content-length: +0')}${smuggled}`,
  `${post('content-length: 0\n\nx: 1')}${smuggled}`,
  `${post('x: 1\r content-length: 0')}${smuggled}`
]

const shapes: readonly Shape[] = [
  { ports: everywhere, run: ({ random, until }) => pause(random, until) },
  {
    ports: http,
    run: ({ socket, random }) => sendPart(socket, get('/metrics', `x: ${'a'.repeat(9_000)}`), random)
  },
  {
    ports: ['api'],
    run: ({ socket, random }) =>
      sendPart(socket, `${post('content-length: 100')}{"user_id": "${'a'.repeat(80)}`, random)
  },
  {
    ports: http,
    async run({ socket, random, until }) {
      socket.write(get('/v1/openapi.json').repeat(1 + random.below(250)))
      await pause(random, until)
    }
  },
  {
    ports: http,
    async run({ socket, random, until }) {
      socket.write(get(random.oneIn(2) ? '/v1/openapi.json' : '/metrics'))
      await Promise.race([once(socket, 'readable').catch(() => {}), pause(random, until)]) // a cut is fine, too
      socket.resetAndDestroy()
    }
  },
  {
    ports: ['api'],
    async run({ socket, target, random, until }) {
      socket.write(get('/v1/rules?limit=1000', `authorization: Bearer ${target.tenant.token}`).repeat(10))
      await pause(random, until)
    }
  },
  { ports: everywhere, run: ({ socket, random }) => sendPart(socket, garbage(random, 20_000), random) },
  { ports: everywhere, run: ({ socket, random }) => sendPart(socket, tlsRecord(random), random) },
  { ports: ['control'], run: ({ socket, random }) => sendFrame(socket, random) },
  { ports: ['api'], run: ({ socket, random }) => smuggle(socket, random.pick(smuggling) ?? '') }
]

export const attack: Attack = async target => {
  const until = AbortSignal.timeout(target.secs * 1000)
  const did: Record<string, number> = { visits: 0, unread: 0, silent: 0, refused: 0 }
  const count = (what: string): void => {
    did[what] = (did[what] ?? 0) + 1
  }

  async function visitAll(visitor: number): Promise<void> {
    const random = seededRandom(target.seed * 1_000 + visitor)
    while (!until.aborted) {
      const shape = random.pick(shapes)
      const port = random.pick(shape?.ports ?? []) ?? 'api'
      const socket = await reach(target, port, `127.0.1.${visitor + 1}`)
      if (socket) await shape?.run({ socket, target, random, until })
      count(socket ? 'visits' : 'refused')
      socket?.destroy()
      await wait(random.below(60))
    }
  }

  /** Keeps up to `most` connections open, which send `text` and never read. */
  async function hold(what: string, most: number, text: string, address: string): Promise<void> {
    const held = new Set<Socket>()
    while (!until.aborted) {
      await wait(held.size < most ? 5 : 50)
      const socket = held.size < most ? await reach(target, 'api', address) : null
      if (!socket) continue
      held.add(socket.pause().once('close', () => held.delete(socket)))
      socket.write(text)
      count(what)
      void wait(holdMs).then(() => socket.destroy())
    }
    for (const socket of held) socket.destroy()
  }

  await Promise.all([
    ...Array.from({ length: visitors }, (_, visitor) => visitAll(visitor)),
    ...[1, 2, 3, 4].flatMap(lane => [
      hold('unread', unread / 4, get('/v1/openapi.json').repeat(6), `127.0.2.${lane}`),
      hold('silent', silent / 4, '', '127.0.3.1')
    ])
  ])
  return did
}

/** Connects from an address of the loopback network. Returns null if the server refuses. */
async function reach(target: Target, port: Port, localAddress: string): Promise<Socket | null> {
  const ports = {
    api: Number(new URL(target.origin).port),
    metrics: target.metricsPort,
    control: target.controlPort
  }
  const socket = connect({ host: '127.0.0.1', port: ports[port], localAddress })
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false
  )
  socket.on('error', () => {}) // a server resets such connections
  return connected ? socket : null
}

const pause = (random: SeededRandom, until: AbortSignal): Promise<void> =>
  wait(random.below(1_000), undefined, { signal: until }).catch(() => {}) // aborted at the end of the attack

/** Sends the start of `bytes` in two pieces, then disconnects. */
async function sendPart(socket: Socket, bytes: string | Buffer, random: SeededRandom): Promise<void> {
  const whole = Buffer.from(bytes)
  const end = random.below(whole.length + 1)
  const middle = random.below(end)
  socket.write(whole.subarray(0, middle))
  await wait(random.below(100))
  socket.write(whole.subarray(middle, end))
  await wait(random.below(100))
  if (random.oneIn(2)) socket.resetAndDestroy()
}

const garbage = (random: SeededRandom, most: number): Buffer =>
  Buffer.from(Array.from({ length: random.below(most) }, () => random.below(256)))

/** Returns a TLS handshake record with random content and sometimes a wrong length. */
function tlsRecord(random: SeededRandom): Buffer {
  const content = garbage(random, 2_000)
  const length = random.oneIn(2) ? content.length : random.below(65_536)
  return Buffer.concat([Buffer.from([22, 3, 1, length >> 8, length & 255]), content])
}

/** Opens TLS to the control port and sends a frame that is too long, empty or malformed. */
async function sendFrame(socket: Socket, random: SeededRandom): Promise<void> {
  const tls = connectTls({ socket, ALPNProtocols: [alpn], rejectUnauthorized: false })
  tls.on('error', () => {}) // resets are expected
  await Promise.race([once(tls, 'secureConnect').catch(() => {}), wait(2_000)])
  const head = Buffer.alloc(4)
  head.writeUInt32BE(random.oneIn(2) ? random.below(2 ** 32) : random.below(4_096))
  tls.write(Buffer.concat([head, garbage(random, 6_000)]))
  await wait(random.below(200))
  tls.destroy()
}

/** Rejects if the server answers the hidden request. */
async function smuggle(socket: Socket, request: string): Promise<void> {
  let answer = ''
  socket.setEncoding('latin1').on('data', chunk => {
    answer += chunk
  })
  socket.write(request)
  await Promise.race([once(socket, 'close').catch(() => {}), wait(2_000)]) // a reset is a refusal
  if (/HTTP\/1\.1 2/.test(answer)) throw new Error(`a smuggled request was answered: ${request}\n${answer}`)
}
