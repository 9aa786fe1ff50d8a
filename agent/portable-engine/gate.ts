// An open rule: its listeners, its connections, its counters, until the last connection has ended.
import type { Socket } from 'node:net'
import type { EngineEvent, EngineRule, Filters, Resolved } from '../engine.ts'
import { canonical } from './address.ts'
import { Connection } from './connection.ts'
import type { Descriptors } from './descriptors.ts'
import { fault } from './fault.ts'
import { compile, type Judges } from './filter.ts'
import { listenEverywhere } from './listener.ts'
import type { OwnPorts } from './own-ports.ts'
import { longestTimerMs, reset } from './relay.ts'
import { openTally, reject, type Tally } from './tally.ts'

/** What the rules of one engine share. */
export interface Ground {
  readonly bind: readonly string[]
  readonly ownPorts: OwnPorts
  readonly descriptors: Descriptors
  emit(event: EngineEvent): void
  ask(ruleId: number, host: string): Promise<Resolved>
}

/** A connection holds its caller's descriptor and its target's. */
const perConnection = 2

export class Gate {
  readonly rule: EngineRule
  readonly tally: Tally
  /** Shut, and no connection is left: the counters are final. */
  readonly ended: Promise<void>
  readonly #end: () => void
  readonly #ground: Ground
  readonly #live = new Set<Connection>()
  #judges: Judges
  #release: (() => void) | null = null // while the port is open
  #cutAt = Number.POSITIVE_INFINITY // ms, by performance.now()
  #drain: NodeJS.Timeout | undefined

  constructor(rule: EngineRule, ground: Ground) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.rule = rule
    this.tally = openTally(rule)
    this.ended = promise
    this.#end = resolve
    this.#ground = ground
    this.#judges = compile(rule)
  }

  async open(): Promise<void> {
    const { bind, descriptors, ownPorts } = this.#ground
    const { from, to } = this.rule
    const listeners = (to - from + 1) * bind.length
    if (!descriptors.take(listeners)) throw fault('EMFILE', `port ${from}: too few descriptors are left`)
    const shut = await listenEverywhere(this.rule, bind, (caller, port) => this.#meet(caller, port)).catch(
      error => {
        descriptors.give(listeners)
        throw error
      }
    )
    ownPorts.join(from, to)
    this.#release = () => {
      shut()
      ownPorts.leave(from, to)
      descriptors.give(listeners)
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
    this.#judges = compile(filters)
    for (const connection of this.#live) connection.judge()
  }

  sourceRefusal({ remoteAddress = '', remotePort = 0 }: Socket): string | null {
    return this.#judges.source(canonical(remoteAddress), remotePort, null)
  }

  targetRefusal(address: string, port: number, host: string): string | null {
    return this.#ground.ownPorts.includes(address, port) ? 'loop' : this.#judges.target(address, port, host)
  }

  resolve(host: string): Promise<Resolved> {
    return this.#ground.ask(this.rule.id, host)
  }

  dnsFailed(host: string, reason: string): void {
    this.tally.dnsFailures++
    this.#ground.emit({ kind: 'dns-failed', ruleId: this.rule.id, host, reason })
  }

  #meet(caller: Socket, port: number): void {
    caller.on('error', () => {}) // 'close' follows; who relays listens for itself
    const hasLeft = caller.remoteAddress === undefined
    // All ports or none: nobody is served before the last is open.
    if (this.#release && !hasLeft && this.#admits(caller)) this.#carry(caller, port)
    else reset(caller)
  }

  #admits(caller: Socket): boolean {
    const hasRoom = () => this.#ground.descriptors.take(perConnection)
    const refusal = this.sourceRefusal(caller) ?? (hasRoom() ? null : 'descriptors')
    if (refusal !== null) reject(this.tally, refusal)
    return refusal === null
  }

  #carry(caller: Socket, port: number): void {
    const counters = this.tally.ports[port - this.rule.from]
    if (!counters) throw new TypeError(`port ${port} is not of this rule`)
    const connection = new Connection(caller, counters, this)
    this.#live.add(connection)
    this.tally.connectionsTotal++
    counters.active++
    void connection.carry().then(() => {
      this.#live.delete(connection)
      counters.active--
      this.#ground.descriptors.give(perConnection)
      this.#endWhenEmpty()
    })
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
