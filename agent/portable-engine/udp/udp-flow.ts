// The story of one flow: what a caller sends from one address is kept, reaches a target, is answered, ends.

import { reject, type Tally } from '../counters.ts'
import type { Pass } from '../meters/meter-chain.ts'
import { type Parcel, send } from './metered-send.ts'
import { openKept } from './pending-datagrams.ts'
import { type ReachedByUdp, reachByUdp } from './udp-dialer.ts'
import type { UdpGate } from './udp-rule.ts'
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
  readonly #leaving = Promise.withResolvers<null>()
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

  /** Resolves when it is over: nobody waits for an answer any more. */
  get left(): Promise<null> {
    return this.#leaving.promise
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
    this.#leaving.resolve(null)
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
    this.#send({ direction: 'in', bytes, by: socket, to: null }, errno => this.#evict(errno))
  }

  #reply(bytes: Buffer): void {
    if (this.#isOver || !this.#reached) return
    this.#seenAt = performance.now()
    if (!this.#isTold) this.#reached.attempt.succeeded()
    this.#isTold = true
    this.#send({ direction: 'out', bytes, by: this.#door, to: this.#source }, () => {})
  }

  #send(parcel: Parcel, onLost: (errno: string) => void): void {
    if (this.#isOver || !this.#reached) return
    const { target } = this.#reached
    send(parcel, { tally: this.#gate.tally, port: this.port, target, pass: this.#pass }, onLost)
  }

  /** The way to the target says that nobody is there. The caller's next datagram begins a new flow. */
  #evict(errno: string): void {
    if (this.#isOver || !this.#reached || !ofTarget.has(errno)) return
    this.#gate.evicted(this.#reached, errno)
    const { attempt } = this.#reached
    const told = this.#isTold ? this.#gate.health.probe(attempt.index) : attempt
    told.failed(errno === 'ECONNREFUSED' ? 'refused' : 'unreachable')
    this.#isTold = true
    this.end(null)
  }
}

/** What ICMP has said of an earlier datagram; other errors are about the one that was sent. */
const ofTarget = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])
