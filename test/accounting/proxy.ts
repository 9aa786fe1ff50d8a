// A proxy between agents and their server, with the server's certificate. It cuts and delays connections, splits reports,
// and repeats reports that were committed before. Data is forwarded in chunks of random size.
import { once } from 'node:events'
import { connect, createServer, type TLSSocket } from 'node:tls'
import type { Static } from 'typebox'
import { openCodec } from '../../kernel/wire/codec.ts'
import { alpn, controlMessages, Hello } from '../../kernel/wire/control.ts'
import { Envelope, wireMessages } from '../../kernel/wire/envelope.ts'
import { encodeFrame, frameLimit, frameParser } from '../../kernel/wire/frame.ts'
import { messages, StatsReport } from '../../plugins/stats/wire.ts'
import type { SeededRandom } from '../bench/soak/seeded-random.ts'
import type { TestFolder } from '../support/test-cluster.ts'
import { randomElement, shuffled } from './chance.ts'

export interface ControlProxy {
  /** Cuts all connections, in the middle of a message. */
  cut(): void
  /** Cuts a connection at the next response to a report: it is committed, but not acknowledged. */
  cutBeforeAnswer(): void
  /** Cuts a connection at its next report, which is forwarded when the agent has reconnected. */
  delay(): void
  /** Pauses all connections until `resume`. */
  hold(): void
  resume(): void
  /** Repeats no earlier reports: the server was restored and does not have them. */
  forget(): void
}

interface Options {
  readonly port: number
  readonly controlPort: number
  /** The server's certificate and key. */
  readonly pem: string
  readonly dice: SeededRandom
}

interface Pair {
  readonly near: TLSSocket
  readonly far: TLSSocket
  readonly asked: Map<number, Uint8Array> // reports without a response, by id
  token: string
  late: Uint8Array | null // a report to forward when the agent has reconnected
}

type Message = Static<typeof Envelope.body>

const ownIds = 2 ** 30 // ids from here on are of requests that the proxy made
const reportsKept = 50
const to = { host: '127.0.0.1', ALPNProtocols: [alpn], rejectUnauthorized: false }

export async function openProxy(t: TestFolder, options: Options): Promise<ControlProxy> {
  const { port, controlPort, pem, dice } = options
  const codec = openCodec([...wireMessages, ...controlMessages, ...messages])
  const pairs = new Set<Pair>()
  const committed = new Map<string, Uint8Array[]>() // reports, by the agent's token
  const mode = { isHeld: false, cutsAnswer: false, isDelayed: false }
  let lastId = ownIds

  const newRequest = (body: Uint8Array): Message => ({
    name: StatsReport.name,
    body,
    id: ++lastId,
    re: 0,
    request: ''
  })

  /** Splits a report: rows in random order, in several reports, of which the last has the seq. */
  function split(message: Message): Message[] {
    const report = codec.decode(StatsReport, message.body)
    const rows = shuffled(report.rows, dice)
    const parts = Array.from({ length: dice.below(4) }, () => rows.splice(0, dice.below(rows.length + 1)))
    const part = { ...report, seq: 0, last: false, live: [] }
    const before = parts.map(rows => newRequest(codec.encode(StatsReport, { ...part, rows })))
    return [...before, { ...message, body: codec.encode(StatsReport, { ...report, rows }) }]
  }

  /** Adds some reports that the server committed before. */
  function withRepeats(message: readonly Message[], token: string): Message[] {
    const known = committed.get(token) ?? []
    const again = Array.from({ length: known.length > 0 ? dice.below(3) : 0 }, () =>
      newRequest(randomElement(known, dice))
    )
    return [...shuffled([...message.slice(0, -1), ...again], dice), ...message.slice(-1)]
  }

  /** Writes a frame in chunks of random size. */
  function write(socket: TLSSocket, body: Uint8Array): void {
    const bytes = encodeFrame(body)
    for (let at = 0; at < bytes.length; ) {
      const size = dice.oneIn(3) ? 1 + dice.below(bytes.length) : bytes.length
      socket.write(bytes.subarray(at, at + size))
      at += size
    }
  }

  function report(pair: Pair, message: Message): void {
    if (mode.isDelayed) {
      mode.isDelayed = false
      pair.late = codec.encode(Envelope, message)
      return void pair.near.destroy()
    }
    pair.asked.set(message.id, message.body)
    for (const each of withRepeats(split(message), pair.token)) write(pair.far, codec.encode(Envelope, each))
  }

  function up(pair: Pair, body: Uint8Array): void {
    const message = body.length > 0 ? codec.decode(Envelope, body) : null
    if (message?.name === StatsReport.name) return void report(pair, message)
    if (message?.name === Hello.name) {
      pair.token = codec.decode(Hello, message.body).token
      for (const { far, token, late } of pairs) if (late && token === pair.token) write(far, late)
    }
    write(pair.far, body)
  }

  function down(pair: Pair, body: Uint8Array): void {
    const { re } = body.length > 0 ? codec.decode(Envelope, body) : { re: 0 }
    if (re > ownIds) return
    const answered = pair.asked.get(re)
    if (answered && mode.cutsAnswer) return void pair.near.destroy()
    if (answered)
      committed.set(pair.token, [...(committed.get(pair.token) ?? []), answered].slice(-reportsKept))
    write(pair.near, body)
  }

  function join(near: TLSSocket): void {
    const far = connect({ ...to, port: controlPort })
    const pair: Pair = { near, far, asked: new Map(), token: '', late: null }
    pairs.add(pair)
    const take = (way: typeof up) =>
      frameParser(
        () => frameLimit,
        body => way(pair, body)
      )
    near.on('data', take(up)).on('error', () => {}) // 'close' follows
    far.on('data', take(down)).on('error', () => {})
    near.on('close', () => {
      mode.cutsAnswer = false
      if (!pair.late) far.destroy() // else the server closes it when the agent has reconnected
    })
    far.on('close', () => {
      pairs.delete(pair)
      near.destroy()
    })
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      if (mode.isHeld) socket.pause()
    }
  }

  const proxy = createServer({ cert: pem, key: pem, ALPNProtocols: [alpn], minVersion: 'TLSv1.3' }, join)
  proxy.listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  const all = (what: 'pause' | 'resume' | 'destroy'): void => {
    for (const { near, far } of pairs) for (const socket of [near, far]) socket[what]()
  }
  t.teardown(() => {
    proxy.close()
    all('destroy')
  })

  return {
    cut: () => all('destroy'),
    cutBeforeAnswer() {
      mode.cutsAnswer = true
    },
    delay() {
      mode.isDelayed = true
    },
    hold() {
      mode.isHeld = true
      all('pause')
    },
    resume() {
      mode.isHeld = false
      all('resume')
    },
    forget: () => committed.clear()
  }
}
