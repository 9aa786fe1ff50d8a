// An open UDP rule: its sockets, its flows, its counters, until the last flow has ended.
import type { EngineRule, Filters, Resolved } from '../engine.ts'
import { canonical, interleave } from './address.ts'
import { compile, type Judges } from './filter.ts'
import type { Ground } from './ground.ts'
import { openHealth, type TargetsHealth } from './health.ts'
import type { Way } from './meters.ts'
import { openTally, reject, type Tally } from './tally.ts'
import { type Arrival, Flow } from './udp-flow.ts'
import { type CloseUdp, listenUdp, type OnDatagram } from './udp-listener.ts'
import type { ReachedByUdp } from './udp-reach.ts'
import { openRefusals } from './udp-refusals.ts'
import type { Place } from './udp-socket.ts'

/** A flow holds its target's descriptor. */
const perFlow = 1
/** Silent flows are looked for this often in an idle time, but not less often than each `longestSweepMs`. */
const sweepsPerIdle = 4
const longestSweepMs = 5_000

export class UdpGate {
  readonly rule: EngineRule
  readonly tally: Tally
  readonly health: TargetsHealth
  /** Shut, and no flow is left: the counters are final. */
  readonly ended: Promise<void>
  readonly #end: () => void
  readonly #ground: Ground
  readonly #way: Way
  readonly #flows = new Map<string, Flow>()
  readonly #refusals = openRefusals()
  #carried = 0 // flows, with those that are over and not closed yet
  #judges: Judges
  #release: (() => Promise<unknown>) | null = null // while the port is open
  #isShut = false

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
    this.#judges = compile(rule)
  }

  async open(): Promise<void> {
    const { bind, descriptors, ownPorts } = this.#ground
    const { from, to, idleMs } = this.rule
    const closes: CloseUdp[] = []
    const shut = () => Promise.all(closes.map(close => close()))
    try {
      for (const port of this.tally.ports)
        closes.push(listenUdp(bind, port.port, descriptors, (...datagram) => this.#meet(port, ...datagram)))
    } catch (error) {
      await shut()
      throw error
    }
    const everyMs = Math.min(idleMs / sweepsPerIdle, longestSweepMs)
    // After a stall what has come meanwhile is read first: it may be what keeps a flow alive.
    const sweep = () => setImmediate(() => this.#sweep())
    const sweeping = idleMs > 0 ? setInterval(sweep, everyMs) : undefined
    ownPorts.join(from, to)
    this.#release = () => {
      clearInterval(sweeping)
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
    void release().then(() => {
      this.#isShut = true
      this.#endWhenEmpty()
    })
  }

  filter(filters: Filters): void {
    this.#judges = compile(filters)
    for (const flow of this.#flows.values()) flow.judge()
  }

  sourceRefusal({ address, port }: Place): string | null {
    return this.#judges.source(canonical(address), port, null)
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

  /** As TCP would dial them; but who has just refused comes last, since only a datagram finds that out. */
  inOrder(addresses: readonly string[], port: number): readonly string[] {
    const all = interleave(addresses, this.rule.preferIpv6 ? 'ipv6' : 'answer')
    return this.#refusals.last(all, port)
  }

  evicted({ attempt, address, port }: ReachedByUdp, errno: string): void {
    this.#refusals.note(address, port)
    this.#ground.emit({ kind: 'flow-evicted', ruleId: this.rule.id, target: attempt.index, errno })
  }

  forget(flow: Flow): void {
    this.#flows.delete(flow.key)
    flow.port.active--
  }

  #meet(port: Tally['ports'][number], ...[bytes, source, door]: Parameters<OnDatagram>): void {
    const key = `${port.port} ${source.address} ${source.port}`
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
    if (!this.#ground.descriptors.take(perFlow)) return this.#refuse('descriptors')
    const pass = this.#way.enter(null)
    if (!('refusal' in pass)) return this.#carry(new Flow(arrival, this, pass))

    this.#ground.descriptors.give(perFlow)
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
    this.#carried++
    void flow.carry().then(() => {
      this.#carried--
      this.#ground.descriptors.give(perFlow)
      this.#endWhenEmpty()
    })
    return flow
  }

  #sweep(): void {
    const silentSince = performance.now() - this.rule.idleMs
    for (const flow of this.#flows.values()) if (flow.seenAt <= silentSince) flow.end(null)
  }

  #endWhenEmpty(): void {
    if (this.#isShut && this.#carried === 0) this.#end()
  }
}
