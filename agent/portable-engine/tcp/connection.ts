// One connection, from accept to close: its target is dialed, bytes are relayed, both sockets close.
import type { Socket } from 'node:net'
import type { DialCaller } from '../../engine/dial-request.ts'
import type { ConnectionEnd, SocketAddress } from '../../engine/ended-connection.ts'
import type { ConnectionRecord } from '../connection-record.ts'
import type { LivePortCounters } from '../live-counters.ts'
import type { Admission } from '../meters/meter-chain.ts'
import type { Direction, Waiter } from '../meters/waiter.ts'
import type { Live } from '../open-connections.ts'
import type { Addresses, Entry, RuleState } from '../rule-state.ts'
import { timeoutMs } from '../timeout-ms.ts'
import type { Caller } from './caller.ts'
import { type ConnectedTarget, connectTarget, type TargetSocket } from './connect-target.ts'
import type { Metering } from './pump.ts'
import { Relay } from './relay.ts'
import { resetSocket } from './reset-socket.ts'
import { PairedStream } from './stream-pair.ts'
import { watchPendingCaller } from './watch-pending-caller.ts'

const dialLimitMs = 30_000
const noTarget = 'no_target'

export class Connection implements Waiter {
  readonly #caller: Socket
  readonly #source: SocketAddress
  readonly #early: Buffer | null
  readonly port: LivePortCounters
  readonly #state: RuleState
  readonly #ending = new AbortController()
  readonly #record: ConnectionRecord
  readonly #dialCaller: DialCaller
  readonly #preamble: Buffer | null
  #admission: Admission | null = null
  #target: ConnectedTarget | null = null // once connected
  #relay: Relay | null = null

  constructor(caller: Caller, port: LivePortCounters, state: RuleState) {
    this.#caller = caller.socket
    this.#source = caller.source
    this.#early = caller.early
    this.port = port
    this.#state = state
    this.#record = beginRecord(state, caller)
    const { source, listen, destination, serverName } = caller
    const addresses = (): ReturnType<Addresses> => [source, destination ?? listen]
    this.#preamble = state.preambleOf(addresses, serverName)
    this.#dialCaller = {
      source: this.#record.source,
      listen: destination ?? this.#record.listen,
      serverName: this.#record.serverName
    }
  }

  /** Resolves when both sockets are closed: no byte is counted after that. */
  async run({ admission, targets }: Entry): Promise<void> {
    this.#admission = admission
    this.#record.divert = targets.divert
    const callerClosed = closeOf(this.#caller)
    const limit = setTimeout(() => {
      this.#state.countRejection(noTarget)
      this.#ending.abort()
    }, dialLimitMs)
    const pending = { socket: this.#caller, early: this.#early }
    const endWatch = watchPendingCaller(pending, () => {
      this.#record.because(this.#caller.destroyed ? 'caller_reset' : 'caller_closed')
      this.#ending.abort()
    })

    this.#watchPeer(this.#caller, 'in')
    const outcome = await connectTarget(this.#state, {
      targets,
      listenPort: this.port.port,
      caller: this.#dialCaller,
      signal: this.#ending.signal
    })

    clearTimeout(limit)
    endWatch()
    if ('refusal' in outcome) this.refuse(outcome.refusal)
    else await this.#connected(outcome, admission)
    await callerClosed
    if (this.#target) this.#target.counters.active--
    this.#state.endRecord(this.#record)
  }

  /** Returns the connection for a query. */
  live(): Live {
    const { listen, activeAt } = this.#record
    const heldBy = this.#relay?.isWaiting ? (this.#admission?.heldBy ?? null) : null
    return { record: this.#record, listen, activeAt, heldBy, end: () => this.reset('operator_closed') }
  }

  /** Applies changed filters. A connection that is still dialing is checked again when it has connected. */
  recheckFilters(): void {
    const refusal = this.#filterRefusal()
    if (refusal !== null) this.refuse(refusal)
  }

  /** Ends if its target was reset. A connection that is still dialing is checked again when it has connected. */
  endIfReset(): void {
    if (this.#target && this.#isReset(this.#target)) this.reset('rule_closed')
  }

  #isReset({ index }: ConnectedTarget): boolean {
    return this.#record.divert === null && this.#state.isReset(index)
  }

  resume(direction: Direction): void {
    this.#restartIdleTimer()
    this.#relay?.resume(direction)
  }

  /** Aborts the dial and resets both sockets. */
  reset(why: ConnectionEnd): void {
    this.#record.because(why)
    this.#ending.abort()
    resetSocket(this.#caller)
    if (this.#target) resetSocket(this.#target.socket)
  }

  /** Resolves when the target's socket is closed. */
  #connected(target: ConnectedTarget, admission: Admission): Promise<void> {
    const closed = closeOf(target.socket)
    this.#target = target
    this.#record.connected(target.index, target)
    const refusal = this.#filterRefusal()
    if (this.#isReset(target)) this.reset('rule_closed')
    else if (this.#ending.signal.aborted || refusal !== null) this.refuse(refusal)
    else this.#startRelay(target, admission)
    return closed
  }

  #startRelay({ socket, counters: target, isFailover }: ConnectedTarget, admission: Admission): void {
    const port = this.port
    const record = this.#record
    target.connectionsTotal++
    this.#watchEnds(socket)
    if (isFailover && record.divert === null) this.#state.counters.targetFailovers++
    // All bytes pass the caller's socket, so its timer is the connection's. Waiting for a meter is not idle.
    this.#caller.on('timeout', () => {
      if (this.#relay?.isWaiting) this.#restartIdleTimer()
      else this.reset('idle')
    })
    this.#restartIdleTimer()
    if (this.#preamble) {
      socket.cork() // the caller's first bytes leave together with it
      socket.write(this.#preamble)
    }
    const metering: Metering = {
      reserve: (direction, want) => admission.reserve(direction, want),
      release: (direction, bytes) => admission.release(direction, bytes),
      delivered(direction, bytes) {
        const counter = direction === 'in' ? 'bytesIn' : 'bytesOut'
        port[counter] += bytes
        target[counter] += bytes
        record.delivered(direction, bytes)
        admission.delivered(direction, bytes)
      }
    }
    const inward = { from: this.#caller, to: socket, early: this.#early }
    const outward = { from: socket, to: this.#caller, early: null }
    this.#relay = new Relay({ in: inward, out: outward }, metering, this.#state.descriptors)
    socket.uncork()
    this.#watchPeer(socket, 'out')
  }

  /** Ends the connection, or its dial, when the peer is gone. */
  #watchPeer(socket: TargetSocket, direction: Direction): void {
    const onDead = () => {
      this.#record.because(direction === 'in' ? 'caller_reset' : 'target_reset')
      if (this.#relay) this.#relay.fail(direction)
      else this.#ending.abort()
    }
    const onEnded = () => {
      if (!this.#relay || this.#relay.sourceEnded(direction)) onDead()
    }
    if (socket instanceof PairedStream) socket.whenReset(onEnded)
    else this.#state.peers.watch(socket, { onEnded, onDead })
  }

  /** Records which side ends first, and how. */
  #watchEnds(target: TargetSocket): void {
    const record = this.#record
    if (this.#caller.readableEnded) record.closedBy('caller_closed')
    this.#caller.once('end', () => record.closedBy('caller_closed'))
    this.#caller.once('error', () => record.because('caller_reset'))
    target.once('end', () => record.closedBy('target_closed'))
    target.once('error', () => record.because('target_reset'))
  }

  #restartIdleTimer(): void {
    this.#caller.setTimeout(timeoutMs(this.#state.rule.idleMs))
  }

  #filterRefusal(): string | null {
    const refusal = this.#state.liveRefusal(this.#source.address, this.#source.port)
    if (refusal !== null || !this.#target || this.#target.dialer !== undefined) return refusal
    const { address, port, host } = this.#target
    return this.#state.targetRefusal(address, port, host)
  }

  /** Ends the connection as refused; null: no target connected. */
  refuse(reason: string | null): void {
    if (!this.#ending.signal.aborted) this.#state.countRejection(reason ?? noTarget)
    this.#record.because(reason === null ? 'dial_failed' : 'refused', reason)
    this.reset('dial_failed')
  }
}

const beginRecord = (state: RuleState, caller: Caller): ConnectionRecord =>
  state.beginRecord(() => [caller.source, caller.listen], caller.serverName)

/** Reports a caller that got no connection, if the rule reports ends. */
export function reportCaller(
  state: RuleState,
  caller: Caller,
  why: ConnectionEnd,
  refusal: string | null
): void {
  if (!state.rule.reportEnds) return
  const record = beginRecord(state, caller)
  record.because(why, refusal)
  state.endRecord(record)
}

const closeOf = (socket: TargetSocket): Promise<void> =>
  new Promise(resolve => socket.once('close', () => resolve()))
