// An open rule: its entrance, its connections, its counters, until the last connection has ended.
import type { Socket } from 'node:net'
import type { EngineRule, EngineTarget, Filters, Resolved } from '../../engine.ts'
import { canonicalAddress } from '../../net/address.ts'
import { type CompiledFilters, compileFilters } from '../../net/filter.ts'
import { openTally, reject, type Tally } from '../counters.ts'
import type { Host, TcpGround } from '../engine-context.ts'
import type { Pass, Way } from '../meters/meter-chain.ts'
import { openHealth, type TargetsHealth } from '../target-health.ts'
import { Connection } from './connection.ts'
import { openProbes } from './health-probes.ts'
import { longestTimerMs, reset } from './relay.ts'

/** A connection holds its caller's descriptor and its target's. */
const perConnection = 2

export class Gate implements Host {
  readonly rule: EngineRule
  readonly tally: Tally
  readonly health: TargetsHealth
  /** Shut, and no connection is left: the counters are final. */
  readonly ended: Promise<void>
  readonly #end: () => void
  readonly #ground: TcpGround
  readonly #way: Way
  readonly #live = new Set<Connection>()
  #judges: CompiledFilters
  #release: (() => void) | null = null // while the port is open
  #cutAt = Number.POSITIVE_INFINITY // ms, by performance.now()
  #drain: NodeJS.Timeout | undefined

  constructor(rule: EngineRule, ground: TcpGround) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.rule = rule
    this.tally = openTally(rule)
    this.health = openHealth(rule, this.tally.targets, ground.emit)
    this.ended = promise
    this.#end = resolve
    this.#ground = ground
    this.#way = ground.meters.way(rule.meters)
    this.#judges = compileFilters(rule)
  }

  async open(): Promise<void> {
    const shut = await this.#ground.entrances.open(this)
    const endProbes = openProbes(this)
    this.#release = () => {
      shut()
      endProbes()
    }
  }

  /** Shuts the port now; what lives is cut after `drainMs`, or earlier when another call says so. */
  close(drainMs: number): void {
    this.#release?.()
    this.#release = null
    const cutAt = performance.now() + drainMs
    if (cutAt < this.#cutAt) {
      this.#cutAt = cutAt
      clearTimeout(this.#drain)
      if (drainMs > 0) this.#drain = setTimeout(() => this.#cut(), Math.min(drainMs, longestTimerMs))
      else this.#cut()
    }
    this.#endWhenEmpty()
  }

  filter(filters: Filters): void {
    this.#judges = compileFilters(filters)
    for (const connection of this.#live) connection.judge()
  }

  meet(caller: Socket, port: number): void {
    caller.on('error', () => {}) // 'close' follows; who relays listens for itself
    // All ports or none: nobody is served before the last is open.
    const isOpen = this.#release !== null && caller.remoteAddress !== undefined
    const refusal = isOpen ? this.#admit(caller, port) : null
    if (refusal !== null) reject(this.tally, refusal)
    if (refusal !== null || !isOpen) reset(caller)
  }

  sourceRefusal({ remoteAddress = '', remotePort = 0 }: Socket): string | null {
    return this.#judges.source(canonicalAddress(remoteAddress), remotePort, null)
  }

  targetRefusal(address: string, port: number, host: string): string | null {
    return this.#ground.ownPorts.includes(address, port) ? 'loop' : this.#judges.target(address, port, host)
  }

  targetAt(index: number): EngineTarget {
    const target = this.rule.targets[index]
    if (!target) throw new TypeError(`target ${index} is not of this rule`)
    return target
  }

  resolve(host: string): Promise<Resolved> {
    return this.#ground.ask(this.rule.id, host)
  }

  dnsFailed(host: string, reason: string): void {
    this.tally.dnsFailures++
    this.#ground.emit({ kind: 'dns-failed', ruleId: this.rule.id, host, reason })
  }

  /** Null: it is carried. */
  #admit(caller: Socket, port: number): string | null {
    const { descriptors } = this.#ground
    const denied = this.sourceRefusal(caller)
    if (denied !== null) return denied
    if (!descriptors.take(perConnection)) return 'descriptors'
    const counters = this.tally.ports[port - this.rule.from]
    if (!counters) throw new TypeError(`port ${port} is not of this rule`)
    const connection = new Connection(caller, counters, this)
    const pass = this.#way.enter(connection)
    if (!('refusal' in pass)) return this.#carry(connection, counters, pass)
    descriptors.give(perConnection)
    return pass.refusal
  }

  #carry(connection: Connection, counters: Tally['ports'][number], pass: Pass): null {
    this.#live.add(connection)
    this.tally.connectionsTotal++
    counters.active++
    void connection.carry(pass).then(() => {
      pass.leave()
      this.#live.delete(connection)
      counters.active--
      this.#ground.descriptors.give(perConnection)
      this.#endWhenEmpty()
    })
    return null
  }

  #cut(): void {
    for (const connection of this.#live) connection.cut()
  }

  #endWhenEmpty(): void {
    if (this.#release || this.#live.size > 0) return
    clearTimeout(this.#drain)
    this.#end()
  }
}
