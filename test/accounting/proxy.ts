// Stands between agents and their server, with the server's own certificate: it cuts, holds back, and has its way
// with reports. Each goes on in pieces of any size, often as several, among others that were booked before.
import { once } from 'node:events'
import { connect, createServer, type TLSSocket } from 'node:tls'
import type { Static } from 'typebox'
import { openCodec } from '../../kernel/wire/codec.ts'
import { alpn, controlMessages, Hello } from '../../kernel/wire/control.ts'
import { Envelope, wireMessages } from '../../kernel/wire/envelope.ts'
import { encodeFrame, frameLimit, frameParser } from '../../kernel/wire/frame.ts'
import { messages, StatsReport } from '../../plugins/stats/wire.ts'
import type { SeededRandom } from '../bench/soak/seeded-random.ts'
import type { Ground } from '../support/test-cluster.ts'
import { any, shuffled } from './chance.ts'

export interface ControlProxy {
  /** Whole connections, in the middle of whatever they say. */
  cut(): void
  /** Cuts a connection at the next answer to a report: that is booked, and the agent does not know. */
  cutBeforeAnswer(): void
  /** Cuts an agent off at its next report, which arrives when the agent comes again. */
  delay(): void
  /** Nothing passes until `go`. */
  hold(): void
  go(): void
  /** The server has forgotten what it had booked: none of it is repeated. */
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
  readonly asked: Map<number, Uint8Array> // reports whose answer has not come, by id
  token: string
  late: Uint8Array | null // a report that waits until the agent has come again
}

type Said = Static<typeof Envelope.body>

const ours = 2 ** 30 // ids from here on are of questions that no agent has asked
const remembered = 50
const to = { host: '127.0.0.1', ALPNProtocols: [alpn], rejectUnauthorized: false }

export async function openProxy(t: Ground, options: Options): Promise<ControlProxy> {
  const { port, controlPort, pem, dice } = options
  const codec = openCodec([...wireMessages, ...controlMessages, ...messages])
  const pairs = new Set<Pair>()
  const booked = new Map<string, Uint8Array[]>() // reports, by the agent's token
  const mode = { isHeld: false, isDeaf: false, isDelayed: false }
  let lastId = ours

  const ask = (body: Uint8Array): Said => ({ name: StatsReport.name, body, id: ++lastId, re: 0, request: '' })

  /** Rows in any order, in several reports, of which the last says how far it is. */
  function several(said: Said): Said[] {
    const report = codec.decode(StatsReport, said.body)
    const rows = shuffled(report.rows, dice)
    const parts = Array.from({ length: dice.below(4) }, () => rows.splice(0, dice.below(rows.length + 1)))
    const part = { ...report, seq: 0, last: false, live: [] }
    const before = parts.map(rows => ask(codec.encode(StatsReport, { ...part, rows })))
    return [...before, { ...said, body: codec.encode(StatsReport, { ...report, rows }) }]
  }

  /** Among some that the server has booked, perhaps long ago. */
  function repeated(said: readonly Said[], token: string): Said[] {
    const known = booked.get(token) ?? []
    const again = Array.from({ length: known.length > 0 ? dice.below(3) : 0 }, () => ask(any(known, dice)))
    return [...shuffled([...said.slice(0, -1), ...again], dice), ...said.slice(-1)]
  }

  /** So that a frame seldom arrives as it was written. */
  function write(socket: TLSSocket, body: Uint8Array): void {
    const bytes = encodeFrame(body)
    for (let at = 0; at < bytes.length; ) {
      const size = dice.oneIn(3) ? 1 + dice.below(bytes.length) : bytes.length
      socket.write(bytes.subarray(at, at + size))
      at += size
    }
  }

  function report(pair: Pair, said: Said): void {
    if (mode.isDelayed) {
      mode.isDelayed = false
      pair.late = codec.encode(Envelope, said)
      return void pair.near.destroy()
    }
    pair.asked.set(said.id, said.body)
    for (const each of repeated(several(said), pair.token)) write(pair.far, codec.encode(Envelope, each))
  }

  function up(pair: Pair, body: Uint8Array): void {
    const said = body.length > 0 ? codec.decode(Envelope, body) : null
    if (said?.name === StatsReport.name) return void report(pair, said)
    if (said?.name === Hello.name) {
      pair.token = codec.decode(Hello, said.body).token
      for (const { far, token, late } of pairs) if (late && token === pair.token) write(far, late)
    }
    write(pair.far, body)
  }

  function down(pair: Pair, body: Uint8Array): void {
    const { re } = body.length > 0 ? codec.decode(Envelope, body) : { re: 0 }
    if (re > ours) return
    const answered = pair.asked.get(re)
    if (answered && mode.isDeaf) return void pair.near.destroy()
    if (answered) booked.set(pair.token, [...(booked.get(pair.token) ?? []), answered].slice(-remembered))
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
      mode.isDeaf = false
      if (!pair.late) far.destroy() // else the server ends it when the agent has come again
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
      mode.isDeaf = true
    },
    delay() {
      mode.isDelayed = true
    },
    hold() {
      mode.isHeld = true
      all('pause')
    },
    go() {
      mode.isHeld = false
      all('resume')
    },
    forget: () => booked.clear()
  }
}
