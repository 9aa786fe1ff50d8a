// An open TCP rule: its listeners, connections and counters, until the last connection has ended.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EngineRule, Filters } from '../../engine/engine.ts'
import { Drain } from '../drain.ts'
import type { EngineContext } from '../engine-context.ts'
import type { LivePortCounters } from '../live-counters.ts'
import type { Live } from '../open-connections.ts'
import { type Entry, RuleState } from '../rule-state.ts'
import type { Caller } from './caller.ts'
import { Connection, reportCaller } from './connection.ts'
import { startHealthProbes } from './health-probes.ts'
import type { Listeners } from './listeners.ts'
import { resetSocket } from './reset-socket.ts'
import type { Acceptor } from './shared-port.ts'
import { backlog, isWithin, type PortRange } from './tcp-port.ts'

/** A connection needs one for its caller and one for its target. */
const descriptorsPerConnection = 2

export class TcpRule implements Acceptor {
  readonly state: RuleState
  readonly #listeners: Listeners
  readonly #connections = new Set<Connection>()
  #shut: (() => void) | null = null // while the port is open
  #arrivals = 0
  readonly #drain = new Drain(() => this.reset(null))

  /** Throws an EngineFault for an invalid filter or an unknown meter. */
  constructor(rule: EngineRule, context: EngineContext, listeners: Listeners, replaces: TcpRule | null) {
    this.state = new RuleState(rule, context, replaces?.state ?? null)
    this.#listeners = listeners
  }

  /** `replaces` is that of the constructor: a rule holds no reference to it. */
  async open(replaces: TcpRule | null): Promise<void> {
    const shutPort = await this.#listeners.open(this, replaces)
    const endProbes = startHealthProbes(this.state)
    this.#shut = () => {
      shutPort()
      endProbes()
    }
  }

  /** Resolves when the callers in the queues of the listeners are accepted. A close would reset them. */
  async acceptWaiting(): Promise<void> {
    let seen = -1
    for (let turn = 0; turn < backlog && this.#shut && seen !== this.#arrivals; turn++) {
      seen = this.#arrivals
      await nextTurn()
      await nextTurn() // a listener accepts one a turn; the first may have begun before
    }
  }

  /** Closes the port now and resets live connections after `drainMs`; null: never. A later call can only shorten it. */
  close(drainMs: number | null): void {
    this.#shut?.()
    this.#shut = null
    this.#drain.endAfter(drainMs)
    this.#endWhenEmpty()
  }

  resetTargets(targets: readonly number[]): void {
    this.state.resetTargets(targets)
    for (const connection of this.#connections) connection.endIfReset()
  }

  /** Resets the connections of ports that are not in `keep`. */
  reset(keep: PortRange | null): void {
    for (const connection of this.#connections)
      if (!isWithin(connection.port.port, keep)) connection.reset('rule_closed')
  }

  setFilters(filters: Filters): void {
    this.state.setFilters(filters)
    this.recheckFilters()
  }

  recheckFilters(): void {
    for (const connection of this.#connections) connection.recheckFilters()
  }

  live(): Live[] {
    return [...this.#connections].map(connection => connection.live())
  }

  accept(caller: Caller, port: number): void {
    this.#arrivals++
    // A range opens all ports or none: callers of the first ports are not served before the last one is open.
    const isOpen = this.#shut !== null && caller.socket.remoteAddress !== undefined
    const refusal = isOpen ? this.#admit(caller, port) : null
    if (refusal !== null) this.#refuse(caller, refusal)
    else if (!isOpen) resetSocket(caller.socket)
  }

  /** Starts a connection, or returns why it is refused. */
  #admit(caller: Caller, port: number): string | null {
    const denied = this.state.sourceRefusal(caller.source.address, caller.source.port)
    if (denied !== null) return denied
    const { share } = this.state
    const refusal = share.reserve(descriptorsPerConnection)
    if (refusal !== null) return refusal
    const counters = this.state.portCounters(port)
    const connection = new Connection(caller, counters, this.state)
    const entry = this.state.enter(caller.source.address, connection)
    if (!('refusal' in entry)) {
      void this.#run(connection, counters, entry)
      return null
    }
    share.release(descriptorsPerConnection)
    return entry.refusal
  }

  #refuse(caller: Caller, reason: string): void {
    this.state.countRejection(reason)
    reportCaller(this.state, caller, 'refused', reason)
    resetSocket(caller.socket)
  }

  async #run(connection: Connection, port: LivePortCounters, entry: Entry): Promise<void> {
    this.#connections.add(connection)
    this.state.share.add(connection, descriptorsPerConnection)
    this.state.counters.connectionsTotal++
    port.active++
    await connection.run(entry)
    entry.admission.leave()
    this.#connections.delete(connection)
    port.active--
    this.state.share.remove(connection)
    this.state.share.release(descriptorsPerConnection)
    this.#endWhenEmpty()
  }

  #endWhenEmpty(): void {
    if (this.#shut || this.#connections.size > 0) return
    this.#drain.cancel()
    this.state.end()
  }
}
