// An open UDP rule: its sockets, its flows, its counters, until the last flow has ended.
import type { EngineRule, Filters, Resolved } from '../../engine.ts'
import { canonicalAddress } from '../../net/address.ts'
import { type CompiledFilters, compileFilters } from '../../net/filter.ts'
import { openTally, reject, type Tally } from '../counters.ts'
import type { Ground } from '../engine-context.ts'
import type { Way } from '../meters/meter-chain.ts'
import { openHealth, type TargetsHealth } from '../target-health.ts'
import type { ReachedByUdp } from './udp-dialer.ts'
import { type Arrival, Flow } from './udp-flow.ts'
import { listenUdp } from './udp-listener.ts'
import type { Datagrams, Place } from './udp-socket.ts'
import { openRefusals } from './unreachable-addresses.ts'

export class UdpGate {
  readonly rule: EngineRule
  readonly tally: Tally
  readonly health: TargetsHealth
  readonly refusals = openRefusals()
  /** Shut, and no flow is left: the counters are final. */
  readonly ended: Promise<void>
  readonly #end: () => void
  readonly #ground: Ground
  readonly #way: Way
  readonly #flows = new Map<string, Flow>()
  readonly #carried = new Set<Promise<void>>() // also of flows that are over and not closed yet
  #judges: CompiledFilters
  #release: (() => Promise<void>) | null = null // while the port is open

  /** Throws an EngineFault when a filter is none, or a meter is not there. */
  constructor(rule: EngineRule, ground: Ground) {
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
    const { ownPorts } = this.#ground
    const { from, to, idleMs } = this.rule
    const shut = await listenUdp(this.rule, this.#ground, (...datagram) => this.#meet(...datagram))
    const endSweeps = everySome(idleMs, () => this.#sweep())
    ownPorts.join(from, to)
    this.#release = () => {
      endSweeps()
      ownPorts.leave(from, to)
      return shut()
    }
  }

  /** Flows have no end of their own to wait for: they are cut, whatever the drain. */
  close(): void {
    const release = this.#release
    if (!release) return
    this.#release = null
    for (const flow of this.#flows.values()) flow.end(null)
    void Promise.all([release(), ...this.#carried]).then(() => this.#end())
  }

  filter(filters: Filters): void {
    this.#judges = compileFilters(filters)
    for (const flow of this.#flows.values()) flow.judge()
  }

  sourceRefusal({ address, port }: Place): string | null {
    return this.#judges.source(canonicalAddress(address), port, null)
  }

  targetRefusal({ address, port, host }: Place & { readonly host: string }): string | null {
    return this.#ground.ownPorts.includes(address, port) ? 'loop' : this.#judges.target(address, port, host)
  }

  resolve(host: string): Promise<Resolved> {
    return this.#ground.ask(this.rule.id, host)
  }

  dnsFailed(host: string, reason: string): void {
    this.tally.dnsFailures++
    this.#ground.emit({ kind: 'dns-failed', ruleId: this.rule.id, host, reason })
  }

  evicted({ attempt, address, port }: ReachedByUdp, errno: string): void {
    this.refusals.note(address, port)
    this.#ground.emit({ kind: 'flow-evicted', ruleId: this.rule.id, target: attempt.index, errno })
  }

  forget(flow: Flow): void {
    this.#flows.delete(flow.key)
    flow.port.active--
  }

  #meet(number: number, bytes: Buffer, source: Place, door: Datagrams): void {
    const port = this.tally.ports[number - this.rule.from]
    if (!port) throw new TypeError(`port ${number} is not of this rule`)
    const key = `${number} ${source.address} ${source.port}`
    const flow = this.#flows.get(key) ?? this.#admit({ key, port, source, door })
    flow?.take(bytes, door)
  }

  #admit(arrival: Arrival): Flow | null {
    if (!this.#release) return null
    const refusal = this.sourceRefusal(arrival.source)
    if (refusal !== null) return this.#refuse(refusal)
    if (this.#flows.size >= this.rule.flowCap) {
      this.tally.flowsDroppedOverflow++
      return null
    }
    if (!this.#ground.descriptors.take(1)) return this.#refuse('descriptors') // its target's
    const pass = this.#way.enter(null)
    if (!('refusal' in pass)) return this.#carry(new Flow(arrival, this, pass))

    this.#ground.descriptors.give(1)
    return this.#refuse(pass.refusal)
  }

  #refuse(reason: string): null {
    reject(this.tally, reason)
    return null
  }

  #carry(flow: Flow): Flow {
    this.#flows.set(flow.key, flow)
    this.tally.connectionsTotal++
    flow.port.active++
    const carried = flow.carry().then(() => {
      this.#carried.delete(carried)
      this.#ground.descriptors.give(1)
    })
    this.#carried.add(carried)
    return flow
  }

  #sweep(): void {
    const silentSince = performance.now() - this.rule.idleMs
    for (const flow of this.#flows.values()) if (flow.seenAt <= silentSince) flow.end(null)
  }
}

/** A few times in an idle time, which may be none. Gives the call that ends it. */
function everySome(idleMs: number, sweep: () => void): () => void {
  if (idleMs === 0) return () => {}
  // After a stall what has come meanwhile is read first: it may be what keeps a flow alive.
  const sweeping = setInterval(() => setImmediate(sweep), Math.min(idleMs / 4, 5_000))
  return () => clearInterval(sweeping)
}
