// The story of one flow: what a caller sends from one address is kept, reaches a target, is answered, ends.
import type { Direction } from './meter.ts'
import type { Pass } from './meters.ts'
import { reject, type Tally } from './tally.ts'
import type { UdpGate } from './udp.ts'
import { openKept } from './udp-kept.ts'
import { type ReachedByUdp, reachByUdp } from './udp-reach.ts'
import type { Datagrams, Place } from './udp-socket.ts'

export interface Arrival {
  readonly key: string
  readonly port: Tally['ports'][number]
  readonly source: Place
  readonly door: Datagrams // that it came in by
}

export class Flow {
  readonly port: Tally['ports'][number]
  readonly key: string
  /** Resolves when the flow is over: nobody waits for an answer any more. */
  readonly left: Promise<null>
  readonly #leave: (nothing: null) => void
  readonly #source: Place
  readonly #gate: UdpGate
  readonly #pass: Pass
  readonly #kept = openKept()
  #door: Datagrams
  #seenAt = performance.now()
  #reached: ReachedByUdp | null = null
  #isTold = false // how the attempt at the target went
  #isOver = false

  constructor({ key, port, source, door }: Arrival, gate: UdpGate, pass: Pass) {
    const { promise, resolve } = Promise.withResolvers<null>()
    this.left = promise
    this.#leave = resolve
    this.key = key
    this.port = port
    this.#source = source
    this.#door = door
    this.#gate = gate
    this.#pass = pass
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** By performance.now(), when a datagram last came from either side. */
  get seenAt(): number {
    return this.#seenAt
  }

  /** Resolves when nothing is counted for it any more. */
  async carry(): Promise<void> {
    const outcome = await reachByUdp(this.#gate, this, {
      onMessage: bytes => this.#reply(bytes),
      onError: errno => this.#evict(errno)
    })
    if (!('socket' in outcome)) return this.end(outcome.refusal)

    this.#reached = outcome
    if (this.#isOver) this.#letGo(outcome)
    else this.#begin(outcome)
    await outcome.socket.closed
  }

  /** A datagram of the caller; replies go out by the door that the latest came in by. */
  take(bytes: Buffer, door: Datagrams): void {
    this.#door = door
    this.#seenAt = performance.now()
    if (this.#reached) this.#forward(bytes, this.#reached)
    else this.#kept.add(bytes)
  }

  /** The filters have changed, or a target has been reached meanwhile. */
  judge(): void {
    const source = this.#gate.sourceRefusal(this.#source)
    const refusal = source ?? (this.#reached ? this.#gate.targetRefusal(this.#reached) : null)
    if (refusal !== null) this.end(refusal)
  }

  end(refusal: string | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#kept.take()
    this.#leave(null)
    this.#pass.leave()
    if (refusal !== null) reject(this.#gate.tally, refusal)
    this.#gate.forget(this)
    if (this.#reached) this.#letGo(this.#reached)
  }

  #letGo({ attempt, socket }: ReachedByUdp): void {
    if (!this.#isTold) attempt.abandoned()
    void socket.close()
  }

  #begin(reached: ReachedByUdp): void {
    this.judge()
    if (this.#isOver) return
    reached.target.connectionsTotal++
    if (reached.isFailover) this.#gate.tally.targetFailovers++
    for (const bytes of this.#kept.take()) this.#forward(bytes, reached)
  }

  #forward(bytes: Buffer, { socket }: ReachedByUdp): void {
    this.#send('in', bytes, onSent => socket.send(bytes, null, onSent))
  }

  #reply(bytes: Buffer): void {
    if (this.#isOver || !this.#reached) return
    this.#seenAt = performance.now()
    if (!this.#isTold) this.#reached.attempt.succeeded()
    this.#isTold = true
    this.#send('out', bytes, onSent => this.#door.send(bytes, this.#source, onSent))
  }

  /** Delivered and counted, or dropped. */
  #send(direction: Direction, bytes: Buffer, send: (onSent: (errno: string | null) => void) => void): void {
    if (this.#isOver) return
    const refusal = this.#pass.admit(direction, bytes.length)
    if (refusal !== null) {
      reject(this.#gate.tally, refusal)
      return
    }
    send(errno => {
      if (errno === null) this.#delivered(direction, bytes.length)
      else this.#pass.returned(bytes.length)
      if (direction === 'in' && errno !== null) this.#evict(errno)
    })
  }

  #delivered(direction: Direction, bytes: number): void {
    const [bytesKey, datagramsKey] = keysOf[direction]
    this.#pass.delivered(direction, bytes)
    this.port[bytesKey] += bytes
    this.port[datagramsKey]++
    if (this.#reached) this.#reached.target[bytesKey] += bytes
  }

  /** The way to the target says that nobody is there. The caller's next datagram begins a new flow. */
  #evict(errno: string): void {
    const reason = evictions[errno]
    if (this.#isOver || !this.#reached || reason === undefined) return
    this.#gate.evicted(this.#reached, errno)
    const { attempt } = this.#reached
    const told = this.#isTold ? this.#gate.health.probe(attempt.index) : attempt
    told.failed(reason)
    this.#isTold = true
    this.end(null)
  }
}

const keysOf = { in: ['bytesIn', 'datagramsIn'], out: ['bytesOut', 'datagramsOut'] } as const

/** What ICMP has said of an earlier datagram; other errors are about the one that was sent. */
const evictions: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable'
}
