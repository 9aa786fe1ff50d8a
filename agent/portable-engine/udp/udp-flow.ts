// A UDP flow: the datagrams of one source address to one port, forwarded to one target, and its replies.
import type { ConnectionEnd } from '../../engine/ended-connection.ts'
import type { ConnectionRecord } from '../connection-record.ts'
import type { LivePortCounters } from '../live-counters.ts'
import type { Admission } from '../meters/meter-chain.ts'
import type { Direction } from '../meters/waiter.ts'
import type { Live } from '../open-connections.ts'
import { type ConnectedUdpTarget, connectUdpTarget, type UdpDialRule } from './connect-udp-target.ts'
import { PendingDatagrams } from './pending-datagrams.ts'
import { ReplyAccount } from './reply-account.ts'
import type { SocketAddress, UdpSocket } from './udp-socket.ts'

/** The first datagram of a flow, without its bytes. */
export interface Arrival {
  readonly key: string // of the flow
  readonly port: LivePortCounters
  readonly source: SocketAddress // of the sender, which gets the replies
  readonly caller: SocketAddress
  readonly destination: SocketAddress | null // of the caller's datagram, from the header
  readonly socket: UdpSocket // that received it
}

/** The flow's view of its rule. */
export interface FlowOwner extends UdpDialRule {
  /** Called when the target's host has sent an ICMP error. */
  evicted(target: ConnectedUdpTarget, errno: string): void
  /** Asks for calls of `settleOld` until it returns false. */
  settleLater(flow: UdpFlow): void
  flowEnded(flow: UdpFlow): void
}

/** How long an ICMP error can take. The datagram that it refers to is not counted as delivered. */
export const settleMs = 250

/** The limit of IPv4. IPv6 allows a few more. */
const maxDatagramBytes = 65_507

export class UdpFlow {
  readonly key: string
  readonly port: LivePortCounters
  lastSeenAt = performance.now() // a datagram from either side
  readonly #source: SocketAddress
  readonly #caller: SocketAddress
  readonly #owner: FlowOwner
  readonly #admission: Admission
  readonly #ending = new AbortController()
  readonly #pending = new PendingDatagrams()
  readonly #record: ConnectionRecord
  #preamble: Buffer | null // of the next datagram to the target
  readonly #replies: ReplyAccount | null
  #replySocket: UdpSocket
  #target: ConnectedUdpTarget | null = null
  #isAttemptReported = false
  #isEvicted = false
  /** The newest datagram that the system accepted for the target. An ICMP error can still refer to it. */
  #unsettled: { readonly bytes: number; readonly sentAt: number } | null = null

  constructor(arrival: Arrival, owner: FlowOwner, admission: Admission) {
    const { key, port, source, caller, destination, socket } = arrival
    this.key = key
    this.port = port
    this.#source = source
    this.#caller = caller
    this.#replySocket = socket
    this.#owner = owner
    const { replyCap } = owner.state.rule
    this.#replies = replyCap && new ReplyAccount(replyCap)
    this.#admission = admission
    this.#record = owner.state.beginRecord(() => [caller, socket.local])
    this.#preamble = owner.state.preambleOf(() => [caller, destination ?? socket.local], '')
  }

  get #hasEnded(): boolean {
    return this.#ending.signal.aborted
  }

  /** Resolves when counting for the flow has ended. */
  async run(): Promise<void> {
    await this.#run()
    this.#record.arrivedAt(this.#replySocket.local)
    this.#owner.state.endRecord(this.#record)
  }

  async #run(): Promise<void> {
    const handlers = {
      onMessage: (bytes: Buffer) => this.#reply(bytes),
      onError: (errno: string) => this.#targetFailed(errno)
    }
    const outcome = await connectUdpTarget(
      this.#owner,
      this.port.port,
      this.#caller.address,
      handlers,
      this.#ending.signal
    )
    if (!('socket' in outcome)) return this.#dialFailed(outcome.refusal)

    this.#target = outcome
    if (this.#hasEnded) this.#release(outcome)
    else this.#connected(outcome)
    await outcome.socket.closed
  }

  /** Handles a datagram of the caller. Replies use the socket that received the last one. */
  receive(bytes: Buffer, socket: UdpSocket): void {
    this.#replySocket = socket
    this.lastSeenAt = performance.now()
    this.#replies?.ask(bytes.length)
    if (this.#target) this.#send('in', bytes)
    else if (!this.#pending.add(bytes)) this.#owner.state.countRejection('pending_overflow')
  }

  /** Returns the flow for a query. Flows never wait for a meter. */
  live(): Live {
    const activeAt = this.lastSeenAt
    const { local: listen } = this.#replySocket
    return { record: this.#record, listen, activeAt, heldBy: null, end: () => this.end('operator_closed') }
  }

  /** Ends the flow if its target was reset. */
  endIfReset(): void {
    if (this.#target && this.#owner.state.isReset(this.#target.attempt.index)) this.end('rule_closed')
  }

  /** Ends the flow if the filters deny its caller or its target. */
  recheckFilters(): void {
    const { state } = this.#owner
    const target = this.#target
    const refusal =
      state.liveRefusal(this.#caller.address, this.#caller.port) ??
      (target && state.targetRefusal(target.address, target.port, target.host))
    if (refusal === null || this.#hasEnded) return
    this.#owner.state.countRejection(refusal)
    this.end('refused', refusal)
  }

  /** Idempotent. */
  end(why: ConnectionEnd, refusal: string | null = null): void {
    if (this.#hasEnded) return
    this.#record.because(why, refusal)
    this.#ending.abort()
    this.#settle()
    this.#pending.takeAll()
    this.#admission.leave()
    this.#owner.flowEnded(this)
    if (this.#target) this.#release(this.#target)
  }

  #dialFailed(refusal: string | null): void {
    if (this.#hasEnded) return
    this.#owner.state.countRejection(refusal ?? 'no_target', this.#pending.count)
    this.end(refusal === null ? 'dial_failed' : 'refused', refusal)
  }

  #release({ attempt, socket, counters }: ConnectedUdpTarget): void {
    counters.active--
    if (!this.#isAttemptReported) attempt.abandoned()
    void socket.close()
  }

  #connected(target: ConnectedUdpTarget): void {
    this.endIfReset()
    if (!this.#hasEnded) this.recheckFilters()
    if (this.#hasEnded) return
    target.counters.connectionsTotal++
    this.#record.connected(target.index, target)
    if (target.isFailover) this.#owner.state.counters.targetFailovers++
    for (const bytes of this.#pending.takeAll()) this.#send('in', bytes)
  }

  #reply(bytes: Buffer): void {
    if (this.#hasEnded || !this.#target) return
    this.#settle()
    this.lastSeenAt = performance.now()
    if (!this.#isAttemptReported) this.#target.attempt.succeeded()
    this.#isAttemptReported = true
    this.#send('out', bytes)
  }

  /** Counts datagrams that were sent at least `settleMs` ago. Returns true if some are left to count. */
  settleOld(): boolean {
    if (this.#unsettled && this.#unsettled.sentAt + settleMs <= performance.now()) this.#settle()
    return this.#unsettled !== null
  }

  /** Sends a datagram that the meters admit. */
  #send(direction: Direction, bytes: Buffer): void {
    if (this.#hasEnded || !this.#target) return
    const { socket } = this.#target
    const refusal =
      this.#refusalBySize(direction, bytes) ?? this.#admission.admitDatagram(direction, bytes.length)
    if (refusal !== null) {
      this.#owner.state.countRejection(refusal)
      return
    }
    const onSent = (errno: string | null) => this.#sent(direction, bytes.length, errno)
    if (direction === 'in') socket.send(this.#withPreamble(bytes), null, onSent)
    else this.#replySocket.send(bytes, this.#source, onSent)
  }

  #refusalBySize(direction: Direction, bytes: Buffer): string | null {
    if (direction === 'out') return this.#replies?.refusalOf(bytes.length) ?? null
    const preambleBytes = this.#preamble?.length ?? 0
    return preambleBytes > 0 && preambleBytes + bytes.length > maxDatagramBytes ? 'datagram_too_large' : null
  }

  #withPreamble(bytes: Buffer): Buffer {
    const preamble = this.#preamble
    if (preamble === null) return bytes
    if (this.#owner.state.rule.preamble?.datagrams === 'first') this.#preamble = null
    return Buffer.concat([preamble, bytes])
  }

  #sent(direction: Direction, bytes: number, errno: string | null): void {
    const isRefused = errno !== null || (direction === 'in' && this.#isEvicted)
    if (isRefused) {
      this.#admission.release(direction, bytes)
      this.#owner.state.countRejection('datagram_unsent')
    } else if (direction === 'in' && !this.#hasEnded) this.#hold(bytes)
    else this.#count(direction, bytes)
    if (errno !== null && direction === 'in') this.#targetFailed(errno)
  }

  /** Delays counting of the newest datagram. The system accepted it without an error, so the previous one arrived. */
  #hold(bytes: number): void {
    this.#settle()
    this.#unsettled = { bytes, sentAt: performance.now() }
    this.#owner.settleLater(this)
  }

  #settle(): void {
    const unsettled = this.#unsettled
    this.#unsettled = null
    if (unsettled) this.#count('in', unsettled.bytes)
  }

  #count(direction: Direction, bytes: number): void {
    const target = this.#target?.counters
    if (!target) return
    const [bytesName, datagramsName] = counterNames[direction]
    this.#admission.delivered(direction, bytes)
    this.port[bytesName] += bytes
    this.port[datagramsName]++
    target[bytesName] += bytes
    this.#record.delivered(direction, bytes)
  }

  /** Ends the flow after an ICMP error. The caller's next datagram begins a new flow. */
  #targetFailed(errno: string): void {
    if (this.#hasEnded || !this.#target || !icmpErrors.has(errno)) return
    this.#isEvicted = true
    if (this.#unsettled) this.#admission.release('in', this.#unsettled.bytes)
    this.#unsettled = null
    this.#owner.evicted(this.#target, errno)
    const { attempt } = this.#target
    const failing = this.#isAttemptReported ? this.#owner.state.health.probe(attempt.index) : attempt
    failing.failed(errno === 'ECONNREFUSED' ? 'refused' : 'unreachable')
    this.#isAttemptReported = true
    this.end('target_unreachable')
  }
}

/** Errors from ICMP about an earlier datagram. Other errors concern only the datagram that was sent. */
const icmpErrors = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])

const counterNames = { in: ['bytesIn', 'datagramsIn'], out: ['bytesOut', 'datagramsOut'] } as const
