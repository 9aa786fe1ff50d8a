// An open UDP rule: its sockets, flows and counters, until the last flow has ended.
import type { EngineRule, Filters } from '../../engine/engine.ts'
import { familyOf } from '../../net/address.ts'
import { Drain } from '../drain.ts'
import type { EngineContext } from '../engine-context.ts'
import type { Live } from '../open-connections.ts'
import { isBinaryHeader, parseProxyHeader } from '../proxy-header.ts'
import { RuleState } from '../rule-state.ts'
import { isWithin, type PortRange } from '../tcp/tcp-port.ts'
import { AvoidedAddresses } from './avoided-addresses.ts'
import type { ConnectedUdpTarget } from './connect-udp-target.ts'
import { type Arrival, type FlowOwner, settleMs, UdpFlow } from './udp-flow.ts'
import { UdpPorts } from './udp-ports.ts'
import type { SocketAddress, UdpSocket } from './udp-socket.ts'

interface NamedDatagram extends Pick<Arrival, 'caller' | 'destination'> {
  readonly rest: Buffer
}

export class UdpRule implements FlowOwner {
  readonly state: RuleState
  readonly avoided = new AvoidedAddresses()
  readonly #context: EngineContext
  readonly #ports = new UdpPorts()
  /** Flows by key, shared with the earlier rules of these ports, so that each datagram finds its flow. */
  readonly #table: Map<string, UdpFlow>
  readonly #flows = new Set<UdpFlow>() // of this rule
  readonly #unsettled = new Set<UdpFlow>()
  #settling: NodeJS.Timeout | undefined
  readonly #running = new Set<Promise<void>>() // includes ended flows with a closing socket
  #isOpen = false
  #closed: Promise<void> | null = null // resolves when the sockets are closed
  #endSweeps = () => {}
  readonly #drain = new Drain(() => this.reset(null))

  /** Throws an EngineFault for an invalid filter or an unknown meter. */
  constructor(rule: EngineRule, context: EngineContext, replaces: UdpRule | null) {
    this.state = new RuleState(rule, context, replaces?.state ?? null)
    this.#context = context
    this.#table = replaces ? replaces.#table : new Map()
  }

  /** `replaces` is that of the constructor: a rule holds no reference to it. */
  async open(replaces: UdpRule | null): Promise<void> {
    const { from, to, idleMs } = this.state.rule
    const onDatagram: UdpRule['receive'] = (...datagram) => this.receive(...datagram)
    await this.#ports.open(this.state.rule, this.#context, onDatagram, replaces ? replaces.#ports : null)
    this.#endSweeps = startSweeps(idleMs, () => this.#sweep())
    this.#context.ownPorts.add(from, to)
    this.#isOpen = true
  }

  /**
   * Ends flows with their socket at once: a flow has no end to drain to. If another rule has taken over the socket, its
   * flows end after `drainMs`; null: when they are idle.
   */
  close(drainMs: number | null): void {
    if (this.#isOpen) this.#shut()
    this.#drain.endAfter(drainMs)
    this.#endWhenEmpty()
  }

  resetTargets(targets: readonly number[]): void {
    this.state.resetTargets(targets)
    for (const flow of this.#flows) flow.endIfReset()
  }

  /** Ends the flows of ports that are not in `keep`. */
  reset(keep: PortRange | null): void {
    this.#endAll([...this.#flows].filter(({ port }) => !isWithin(port.port, keep)))
  }

  live(): Live[] {
    return [...this.#flows].map(flow => flow.live())
  }

  setFilters(filters: Filters): void {
    this.state.setFilters(filters)
    this.recheckFilters()
  }

  recheckFilters(): void {
    for (const flow of this.#flows) flow.recheckFilters()
  }

  #shut(): void {
    const { from, to } = this.state.rule
    this.#isOpen = false
    this.#context.ownPorts.remove(from, to)
    this.#endAll([...this.#table.values()].filter(({ port }) => this.#ports.has(port.port)))
    this.#closed = this.#ports.close()
  }

  #endAll(flows: Iterable<UdpFlow>): void {
    for (const flow of [...flows]) flow.end('rule_closed')
  }

  #endWhenEmpty(): void {
    if (!this.#closed || this.#flows.size > 0) return
    this.#endSweeps()
    clearTimeout(this.#settling)
    this.#drain.cancel()
    void Promise.all([this.#closed, ...this.#running]).then(() => this.state.end())
  }

  evicted({ index: target }: ConnectedUdpTarget, errno: string): void {
    this.#context.emit({ kind: 'flow-evicted', ruleId: this.state.rule.id, target, errno })
  }

  redialed(from: ConnectedUdpTarget, to: ConnectedUdpTarget): void {
    const addresses = [from.address, to.address] as const
    this.#context.emit({
      kind: 'flow-redialed',
      ruleId: this.state.rule.id,
      from: from.index,
      to: to.index,
      addresses
    })
  }

  settleLater(flow: UdpFlow): void {
    this.#unsettled.add(flow)
    this.#settling ??= setTimeout(() => this.#settleFlows(), settleMs)
  }

  flowEnded(flow: UdpFlow): void {
    this.#unsettled.delete(flow)
    this.#flows.delete(flow)
    this.state.share.remove(flow)
    this.#table.delete(flow.key)
    flow.port.active--
    this.#endWhenEmpty()
  }

  receive(port: number, bytes: Buffer, source: SocketAddress, socket: UdpSocket): void {
    const key = keyOf(port, socket.local.address, source)
    const flow = this.#find(key) ?? this.#adopt(key, port, source, socket)
    const first = this.#readFirst(bytes, source, flow)
    if (first === null) return
    const arrival = () => ({ ...first, key, port: this.state.portCounters(port), source, socket })
    const receiver = flow ?? this.#admit(arrival())
    receiver?.receive(first.rest, socket)
  }

  /** Ends a flow that waits in vain for a target of a replaced rule. */
  #find(key: string): UdpFlow | undefined {
    const flow = this.#table.get(key)
    if (!flow || this.#flows.has(flow) || !flow.isStranded(this.state)) return flow
    flow.end('rule_closed')
    return undefined
  }

  /**
   * Returns the flow that the wildcard socket received before the local address had a socket. Later datagrams of the flow
   * come through the new socket, which answers from the right address.
   */
  #adopt(
    key: string,
    port: number,
    source: SocketAddress,
    { local, openedAt }: UdpSocket
  ): UdpFlow | undefined {
    const earlier = keyOf(port, anyAddress[familyOf(local.address)], source)
    const flow = this.#table.get(earlier)
    if (!flow || flow.beganAt >= openedAt || earlier === key) return undefined
    this.#table.delete(earlier)
    this.#table.set(key, flow)
    flow.key = key
    return flow
  }

  /** Removes the header that the first datagram of a flow must have if the rule has a `firstRead`. Returns null if refused. */
  #readFirst(bytes: Buffer, source: SocketAddress, flow: UdpFlow | undefined): NamedDatagram | null {
    const { firstRead } = this.state
    const own = { caller: source, destination: null }
    if (!firstRead) return { ...own, rest: bytes }
    if (!flow && !firstRead.trusts(source.address)) return this.#refuse(firstRead.refusals.untrusted)
    const header = isBinaryHeader(bytes) ? parseProxyHeader(bytes, 'datagram') : null
    if (header ? header.size === 0 : !flow) return this.#refuse(firstRead.refusals.header)
    return { ...own, ...header?.named, rest: bytes.subarray(header?.size) }
  }

  /** Starts a flow. Returns null if it is refused and counted, or if the rule is closed. */
  #admit(arrival: Arrival): UdpFlow | null {
    if (!this.#isOpen) return null
    const { address, port } = arrival.caller
    const refusal = this.state.sourceRefusal(address, port)
    if (refusal !== null) return this.#refuse(refusal)
    if (this.#table.size >= this.state.rule.flowCap) {
      this.state.counters.flowsDroppedOverflow++
      return null
    }
    const full = this.state.share.reserve(1) // for the target's socket
    if (full !== null) return this.#refuse(full)
    const entry = this.state.enter(address, null)
    if (!('refusal' in entry)) return this.#run(new UdpFlow(arrival, this, entry))

    this.state.share.release(1)
    return this.#refuse(entry.refusal)
  }

  #refuse(reason: string): null {
    this.state.countRejection(reason)
    return null
  }

  #run(flow: UdpFlow): UdpFlow {
    this.#flows.add(flow)
    this.state.share.add(flow, 1)
    this.#table.set(flow.key, flow)
    this.state.counters.connectionsTotal++
    flow.port.active++
    const running = flow.run().then(() => {
      this.#running.delete(running)
      this.state.share.release(1)
    })
    this.#running.add(running)
    return flow
  }

  #settleFlows(): void {
    this.#settling = undefined
    const flows = [...this.#unsettled]
    this.#unsettled.clear()
    for (const flow of flows) if (flow.settleOld()) this.settleLater(flow)
  }

  #sweep(): void {
    const silentSince = performance.now() - this.state.rule.idleMs
    for (const flow of this.#flows) {
      flow.checkSilence()
      if (flow.lastSeenAt <= silentSince) flow.end('idle')
    }
  }
}

const anyAddress = { ipv4: '0.0.0.0', ipv6: '::' } as const

const keyOf = (port: number, local: string, source: SocketAddress): string =>
  `${port} ${local} ${source.address} ${source.port}`

/** Calls `sweep` several times per `idleMs`; 0: never. Returns a function that ends the sweeps. */
function startSweeps(idleMs: number, sweep: () => void): () => void {
  if (idleMs === 0) return () => {}
  // After a stall, waiting datagrams are read first: they can keep a flow alive.
  const timer = setInterval(() => setImmediate(sweep), Math.min(idleMs / 4, 5_000))
  return () => clearInterval(timer)
}
