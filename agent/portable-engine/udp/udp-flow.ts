// A UDP flow: the datagrams of one source address to one port, forwarded to one target, and its replies.
import { isIP } from 'node:net'
import type { ConnectionEnd } from '../../engine/ended-connection.ts'
import type { ConnectionRecord } from '../connection-record.ts'
import type { LivePortCounters } from '../live-counters.ts'
import type { Admission } from '../meters/meter-chain.ts'
import type { Direction } from '../meters/waiter.ts'
import type { Live } from '../open-connections.ts'
import type { Entry, RuleState } from '../rule-state.ts'
import type { TargetGroup } from '../target-group.ts'
import type { Attempt } from '../target-health.ts'
import { AnswerWatch } from './answer-watch.ts'
import {
  type ConnectedUdpTarget,
  connectUdpTarget,
  redialUdpTarget,
  type UdpDialRule
} from './connect-udp-target.ts'
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
  /** Called when a flow has left a target that did not answer. */
  redialed(from: ConnectedUdpTarget, to: ConnectedUdpTarget): void
  /** Asks for calls of `settleOld` until it returns false. */
  settleLater(flow: UdpFlow): void
  flowEnded(flow: UdpFlow): void
}

/** How long an ICMP error can take. The datagram that it refers to is not counted as delivered. */
export const settleMs = 250

/** The limit of IPv4. IPv6 allows a few more. */
const maxDatagramBytes = 65_507

export class UdpFlow {
  key: string // among the flows of its ports
  readonly port: LivePortCounters
  readonly beganAt = performance.now()
  lastSeenAt = this.beganAt // a datagram from either side
  readonly #source: SocketAddress
  readonly #caller: SocketAddress
  readonly #owner: FlowOwner
  readonly #admission: Admission
  readonly #targets: TargetGroup
  readonly #ending = new AbortController()
  readonly #pending = new PendingDatagrams()
  readonly #record: ConnectionRecord
  readonly #newPreamble: () => Buffer | null
  #preamble: Buffer | null // of the next datagram to the target
  readonly #replies: ReplyAccount | null
  #replySocket: UdpSocket
  #target: ConnectedUdpTarget | null = null
  #attempt: Attempt | null = null // at the target; null: its result is reported
  readonly #answers = new AnswerWatch()
  readonly #tried = new Set<number>()
  #redialing: Promise<void> | null = null
  #isHeld = false // datagrams wait for the new target
  #isEvicted = false
  /** The newest datagram that the system accepted for the target. An ICMP error can still refer to it. */
  #unsettled: {
    readonly bytes: number
    readonly sentAt: number
    readonly target: ConnectedUdpTarget
  } | null = null

  constructor(arrival: Arrival, owner: FlowOwner, { admission, targets }: Entry) {
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
    this.#targets = targets
    this.#record = owner.state.beginRecord(() => [caller, socket.local])
    this.#record.divert = targets.divert
    this.#newPreamble = () => owner.state.preambleOf(() => [caller, destination ?? socket.local], '')
    this.#preamble = this.#newPreamble()
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
    const outcome = await connectUdpTarget(this.#dial)
    if (!('socket' in outcome)) return this.#dialFailed(outcome.refusal)

    this.#attempt = outcome.attempt
    this.#target = outcome
    if (this.#hasEnded) this.#release(outcome)
    else this.#connected(outcome)
    for (let last: ConnectedUdpTarget | null = null; last !== this.#target; ) {
      last = this.#target
      await last.socket.closed
      await this.#redialing
    }
  }

  get #dial() {
    return {
      rule: this.#owner,
      targets: this.#targets,
      listenPort: this.port.port,
      source: this.#caller.address,
      handlers: {
        onMessage: (bytes: Buffer) => this.#reply(bytes),
        onError: (errno: string) => this.#targetFailed(errno)
      },
      signal: this.#ending.signal
    }
  }

  /** Handles a datagram of the caller. Replies use the socket that received the last one. */
  receive(bytes: Buffer, socket: UdpSocket): void {
    this.#replySocket = socket
    if (this.#target && this.#isSilent()) this.#dialAgain(this.#target)
    this.lastSeenAt = performance.now()
    this.#replies?.ask(bytes.length)
    if (this.#target && !this.#isHeld) this.#send('in', bytes)
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
    const isOwn = this.#targets.divert === null
    if (isOwn && this.#target && this.#owner.state.isReset(this.#target.index)) this.end('rule_closed')
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

  refuse(reason: string): void {
    if (!this.#hasEnded) this.#owner.state.countRejection(reason)
    this.end('refused', reason)
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

  #release({ socket, counters }: ConnectedUdpTarget): void {
    counters.active--
    this.#attempt?.abandoned()
    this.#attempt = null
    void socket.close()
  }

  #isSilent(): boolean {
    return this.#answers.isSilent(this.#owner.state.rule.unansweredMs, this.lastSeenAt)
  }

  /** Counts the silence of a target that has never answered, for the choice of new flows. */
  checkSilence(): void {
    if (this.#target && this.#attempt && this.#isSilent()) this.#countSilence(this.#target)
  }

  /** Counts as a failure of the target, unless it is the only one or answers other flows. */
  #countSilence({ index, address, port }: ConnectedUdpTarget): void {
    const { health, targets } = this.#targets
    const { hasReplied, unansweredSince } = this.#answers
    this.#owner.avoided.add(address, port, 'silent')
    if (targets.length < 2 || health.hasRepliedSince(index, unansweredSince ?? 0)) return
    if (hasReplied) this.#attempt ??= health.attempt(index)
    this.#answers.hasReplied = false
    this.#attempt?.failed('no_answer')
    this.#attempt = null
  }

  /** True if the flow of a replaced rule has no answer, and the current rule does not offer just the same target. */
  isStranded(current: RuleState): boolean {
    if (!this.#target || !this.#isSilent()) return false
    const own = this.#targets.targets[this.#target.index]
    const [first, ...others] = current.targetsOf(this.#targets.divert)?.targets ?? []
    return others.length > 0 || first?.host !== own?.host || first?.port !== own?.port
  }

  #dialAgain(silent: ConnectedUdpTarget): void {
    if (this.#redialing) return
    this.#countSilence(silent)
    this.#answers.restart()
    const { share } = this.#owner.state
    if (this.#targets.targets.length === 1 && isIP(silent.host) !== 0) return
    if (share.reserve(1) !== null) return
    this.#redialing = this.#redial(silent).finally(() => {
      share.release(1)
      this.#redialing = null
    })
  }

  /** The caller's datagrams wait for the new target, but not for DNS. */
  async #redial(silent: ConnectedUdpTarget): Promise<void> {
    this.#isHeld = true
    const waiting = setImmediate(() => this.#sendPending())
    const onConnecting = () => clearImmediate(waiting)
    const next = await redialUdpTarget({ ...this.#dial, silent, tried: this.#tried, onConnecting })
    clearImmediate(waiting)
    const isWanted = !this.#hasEnded && this.#answers.unansweredSince !== null
    if (next && isWanted) this.#move(silent, next)
    else if (next) this.#discard(next)
    this.#sendPending()
    if (next) await (isWanted ? silent : next).socket.closed
  }

  #discard({ attempt, socket, counters }: ConnectedUdpTarget): void {
    counters.active--
    attempt.abandoned()
    void socket.close()
  }

  #move(silent: ConnectedUdpTarget, next: ConnectedUdpTarget): void {
    this.#settle()
    this.#release(silent)
    if (this.#targets.divert === null) this.#owner.redialed(silent, next)
    this.#preamble = this.#newPreamble()
    this.#answers.hasReplied = false
    this.#answers.restart()
    this.#attempt = next.attempt
    this.#target = next
    this.#connected(next)
  }

  #sendPending(): void {
    this.#isHeld = false
    for (const bytes of this.#pending.takeAll()) this.#send('in', bytes)
  }

  #connected(target: ConnectedUdpTarget): void {
    this.endIfReset()
    if (!this.#hasEnded) this.recheckFilters()
    if (this.#hasEnded) return
    target.counters.connectionsTotal++
    this.#record.connected(target.index, target)
    if (target.isFailover && this.#targets.divert === null) this.#owner.state.counters.targetFailovers++
    this.#sendPending()
  }

  #reply(bytes: Buffer): void {
    if (this.#hasEnded || !this.#target) return
    this.#settle()
    this.lastSeenAt = performance.now()
    this.#answered(this.#target.index)
    this.#send('out', bytes)
  }

  #answered(index: number): void {
    const { health } = this.#targets
    health.replied(index)
    this.#answers.answered()
    if (this.#answers.hasReplied) return
    this.#answers.hasReplied = true
    const attempt = this.#attempt ?? health.attempt(index) // its silence was counted
    attempt.succeeded()
    this.#attempt = null
  }

  /** Counts datagrams that were sent at least `settleMs` ago. Returns true if some are left to count. */
  settleOld(): boolean {
    if (this.#unsettled && this.#unsettled.sentAt + settleMs <= performance.now()) this.#settle()
    return this.#unsettled !== null
  }

  /** Sends a datagram that the meters admit. */
  #send(direction: Direction, bytes: Buffer): void {
    if (this.#hasEnded || !this.#target) return
    const target = this.#target
    const refusal =
      this.#refusalBySize(direction, bytes) ?? this.#admission.admitDatagram(direction, bytes.length)
    if (refusal !== null) {
      this.#owner.state.countRejection(refusal)
      return
    }
    const onSent = (errno: string | null) => this.#sent(direction, bytes.length, errno, target)
    if (direction === 'in') this.#sendToTarget(target.socket, this.#withPreamble(bytes), onSent)
    else this.#replySocket.send(bytes, this.#source, onSent)
  }

  /** Sends again after an error that can only be about an earlier datagram. */
  #sendToTarget(socket: UdpSocket, bytes: Buffer, onSent: (errno: string | null) => void): void {
    socket.send(bytes, null, errno => {
      if (errno !== 'EMSGSIZE' || bytes.length > maxDatagramBytes) return onSent(errno)
      this.#lostOnPath()
      socket.send(bytes, null, onSent)
    })
  }

  /** A router has refused the newest datagram as too large. The system will split later ones. */
  #lostOnPath(): void {
    if (!this.#unsettled) return
    this.#admission.release('in', this.#unsettled.bytes)
    this.#unsettled = null
    this.#owner.state.countRejection('datagram_too_large')
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

  #sent(direction: Direction, bytes: number, errno: string | null, target: ConnectedUdpTarget): void {
    const isRefused = errno !== null || (direction === 'in' && this.#isEvicted)
    if (isRefused) {
      this.#admission.release(direction, bytes)
      this.#owner.state.countRejection(errno === 'EMSGSIZE' ? 'datagram_too_large' : 'datagram_unsent')
    } else if (direction === 'in' && !this.#hasEnded && target === this.#target) this.#hold(bytes, target)
    else this.#count(direction, bytes, target)
    if (errno !== null && direction === 'in' && target === this.#target) this.#targetFailed(errno)
  }

  /** Delays counting of the newest datagram. The system accepted it without an error, so the previous one arrived. */
  #hold(bytes: number, target: ConnectedUdpTarget): void {
    this.#settle()
    this.#answers.sent()
    this.#unsettled = { bytes, sentAt: performance.now(), target }
    this.#owner.settleLater(this)
  }

  #settle(): void {
    const unsettled = this.#unsettled
    this.#unsettled = null
    if (unsettled) this.#count('in', unsettled.bytes, unsettled.target)
  }

  #count(direction: Direction, bytes: number, { counters: target }: ConnectedUdpTarget): void {
    const [bytesName, datagramsName] = counterNames[direction]
    this.#admission.delivered(direction, bytes)
    this.port[bytesName] += bytes
    this.port[datagramsName]++
    target[bytesName] += bytes
    this.#record.delivered(direction, bytes)
  }

  /** Ends the flow after an ICMP error. The caller's next datagram begins a new flow. */
  #targetFailed(errno: string): void {
    if (errno === 'EMSGSIZE') this.#lostOnPath()
    if (this.#hasEnded || !this.#target || !icmpErrors.has(errno)) return
    this.#isEvicted = true
    if (this.#unsettled) this.#admission.release('in', this.#unsettled.bytes)
    this.#unsettled = null
    this.#owner.avoided.add(this.#target.address, this.#target.port, 'unreachable')
    if (this.#targets.divert === null) this.#owner.evicted(this.#target, errno)
    const attempt = this.#attempt ?? this.#targets.health.attempt(this.#target.index)
    attempt.failed(errno === 'ECONNREFUSED' ? 'refused' : 'unreachable')
    this.#attempt = null
    this.end('target_unreachable')
  }
}

/** Errors from ICMP about an earlier datagram. Other errors concern only the datagram that was sent. */
const icmpErrors = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])

const counterNames = { in: ['bytesIn', 'datagramsIn'], out: ['bytesOut', 'datagramsOut'] } as const
