// State that both TCP and UDP rules have: counters, filters, meters, target health, DNS.
import { isIP } from 'node:net'
import { checkShares, checkWeights } from '../engine/balance.ts'
import type { SocketAddress } from '../engine/ended-connection.ts'
import type { EngineRule, Filters } from '../engine/engine.ts'
import type { SourceLimit } from '../engine/source-guard.ts'
import { canonicalAddress } from '../net/address.ts'
import type { AddressSet } from '../net/address-set.ts'
import { type CompiledFilters, compileFilters } from '../net/compile-filters.ts'
import { type CompiledGuard, compileGuards, refusalBy } from './address-guards.ts'
import { ConnectionRecord } from './connection-record.ts'
import type { EngineContext } from './engine-context.ts'
import { type LiveCounters, type LivePortCounters, zeroCounters } from './live-counters.ts'
import { type Diverted, LiveDivert } from './live-divert.ts'
import type { Admission, MeterChain } from './meters/meter-chain.ts'
import type { Waiter } from './meters/waiter.ts'
import type { DescriptorShare, Descriptors } from './net/descriptors.ts'
import type { DialFailure } from './net/dial-failure.ts'
import type { LocalPorts } from './net/local-ports.ts'
import { compileSenderCheck, type SenderCheck } from './sender-check.ts'
import type { Entered } from './source-limits.ts'
import { TargetChooser } from './target-chooser.ts'
import type { AskForDial } from './target-dials.ts'
import { TargetGroup } from './target-group.ts'
import { TargetHealth } from './target-health.ts'
import type { PeerWatch } from './tcp/peer-watch.ts'
import { writePreamble } from './write-preamble.ts'

/** Returns the addresses of a caller. Called only if needed. */
export type Addresses = () => readonly [source: SocketAddress, listen: SocketAddress]

/** The place of a caller in the limits, and its targets. */
export interface Entry {
  readonly admission: Admission
  readonly targets: TargetGroup
}

export class RuleState {
  readonly rule: EngineRule
  readonly counters: LiveCounters
  readonly targets: TargetGroup // of the rule itself
  readonly #diverts: readonly LiveDivert[]
  readonly meters: MeterChain
  readonly firstRead: SenderCheck | null
  readonly #ending = Promise.withResolvers<void>()
  /** Resolves when the port is closed and the last connection or flow has ended: the counters are final. */
  readonly ended = this.#ending.promise
  readonly end = this.#ending.resolve
  readonly descriptors: Pick<Descriptors, 'arePlenty'>
  readonly peers: PeerWatch
  readonly share: DescriptorShare
  readonly localPorts: LocalPorts
  readonly askForDial: AskForDial
  readonly #context: EngineContext
  readonly #chooser: TargetChooser | null
  readonly #reset = new Set<number>() // targets
  #filters: CompiledFilters
  #guards: readonly CompiledGuard[]
  #limits: readonly SourceLimit[]

  /** Throws an EngineFault for an invalid filter or an unknown meter. Targets of `replaced` keep their health. */
  constructor(rule: EngineRule, context: EngineContext, replaced: RuleState | null) {
    this.rule = rule
    this.counters = zeroCounters(rule)
    this.#chooser = rule.balance && new TargetChooser(rule.balance, rule, this.counters.targets)
    this.targets = new TargetGroup({
      rule,
      divert: null,
      targets: rule.targets,
      counters: this.counters.targets,
      health: new TargetHealth(rule, this.counters.targets, context.emit),
      chooser: this.#chooser
    })
    this.#diverts = rule.diverts.map((divert, index) => {
      const counters = this.counters.diverts[index]?.targets ?? []
      const health = new TargetHealth(rule, counters, () => {}) // its changes are no events of the rule
      const { name, targets } = divert
      const group = new TargetGroup({ rule, divert: name, targets, counters, health, chooser: null })
      return new LiveDivert(divert, group, context.addressSet)
    })
    if (replaced) this.#continueFrom(replaced)
    this.meters = context.meters.chain(rule.meters)
    this.firstRead = rule.firstRead && compileSenderCheck(rule.firstRead)
    this.descriptors = context.descriptors
    this.peers = context.peers
    this.localPorts = context.localPorts
    this.askForDial = context.askForDial
    this.#context = context
    this.#filters = compileFilters(rule)
    this.#guards = compileGuards(rule, context.addressSet)
    this.#limits = rule.sourceLimits
    this.share = context.descriptors.join(rule.owner)
    void this.ended.then(() => context.descriptors.leave(this.share))
  }

  #continueFrom(replaced: RuleState): void {
    this.targets.continueFrom(replaced.targets)
    for (const divert of this.#diverts) {
      const same = replaced.#diverts.find(({ targets }) => targets.divert === divert.targets.divert)
      if (same) divert.continueFrom(same)
    }
  }

  /** Returns the targets of the divert with this name, or those of the rule for null. */
  targetsOf(divert: string | null): TargetGroup | undefined {
    if (divert === null) return this.targets
    return this.#diverts.find(({ targets }) => targets.divert === divert)?.targets
  }

  /** Returns the name of the divert of a new caller, or null. */
  divertOf(address: string): string | null {
    return this.#divertOf(canonicalAddress(address))?.targets.divert ?? null
  }

  #divertOf(address: string): LiveDivert | undefined {
    return this.#diverts.find(divert => divert.matches(address))
  }

  setFilters(filters: Filters): void {
    this.#filters = compileFilters(filters)
    this.#guards = compileGuards(filters, this.#context.addressSet)
    this.#limits = filters.sourceLimits
  }

  /** Returns true if a change of the set can end connections. */
  isGuardedBy(set: AddressSet): boolean {
    return this.#guards.some(({ live, sets }) => live === 'reset' && sets.includes(set))
  }

  setWeights(weights: readonly number[]): void {
    if (!this.#chooser) return
    checkWeights(weights, this.rule.targets.length)
    this.#chooser.weights = weights
  }

  setShares(shares: readonly number[]): void {
    if (!this.#chooser) return
    checkShares(shares, this.rule.targets.length)
    this.#chooser.shares = shares
  }

  /** Marks targets to reset. Connections and flows that connect to them later end, too. */
  resetTargets(targets: readonly number[]): void {
    for (const target of targets) this.#reset.add(target)
  }

  isReset(target: number): boolean {
    return this.#reset.has(target)
  }

  countRejection(reason: string, count = 1): void {
    const { rejected } = this.counters
    rejected[reason] = (rejected[reason] ?? 0) + count
  }

  /** Starts the record of a connection or flow. */
  beginRecord(addresses: Addresses, serverName = ''): ConnectionRecord {
    return new ConnectionRecord(this.rule.id, ...addresses(), serverName)
  }

  /** Returns the preamble for the target, if the rule has one. */
  preambleOf(addresses: Addresses, serverName: string): Buffer | null {
    const { preamble } = this.rule
    if (!preamble) return null
    const [source, listen] = addresses()
    return writePreamble(preamble, { source, listen, serverName })
  }

  /** Reports the end of a connection or flow, if the rule reports ends. */
  endRecord(record: ConnectionRecord): void {
    if (this.rule.reportEnds) this.#context.ended.add(record.finish())
  }

  sourceRefusal(address: string, port: number): string | null {
    return this.#sourceRefusal(address, port, this.#guards)
  }

  /** Like `sourceRefusal`, for an open connection. */
  liveRefusal(address: string, port: number): string | null {
    const guards = this.#guards.filter(({ live }) => live === 'reset')
    return this.#sourceRefusal(address, port, guards)
  }

  /** Returns the reason of the guard that refuses a new caller, or null. */
  guardRefusal(address: string): string | null {
    return refusalBy(this.#guards, canonicalAddress(address))
  }

  #sourceRefusal(address: string, port: number, guards: readonly CompiledGuard[]): string | null {
    const canonical = canonicalAddress(address)
    return this.#filters.source(canonical, port, null) ?? refusalBy(guards, canonical)
  }

  /** Enters the limits of a caller's source, then its divert, then the meters, or none of them. */
  enter(address: string, waiter: Waiter | null): Entry | { readonly refusal: string } {
    const source = this.#enterSource(address)
    if ('refusal' in source) return source
    const diverted = this.#enterDivert(address)
    if ('refusal' in diverted) {
      source.leave()
      return diverted
    }
    const admission = this.meters.enter(waiter, () => {
      diverted.leave()
      source.leave()
    })
    return 'refusal' in admission ? admission : { admission, targets: diverted.targets }
  }

  #enterDivert(address: string): Diverted {
    const own: Diverted = { targets: this.targets, leave() {} }
    if (this.#diverts.length === 0) return own
    return this.#divertOf(canonicalAddress(address))?.enter() ?? own
  }

  /** Counts a caller for its source. A proxy in front is not a source. */
  #enterSource(address: string): Entered {
    if (this.#limits.length === 0 || this.firstRead?.trusts(address)) return { leave() {} }
    return this.#context.sourceLimits.enter(
      this.rule.owner,
      this.#limits,
      canonicalAddress(address),
      this.#sourceOver
    )
  }

  /** Counts a caller with a failed handshake. */
  handshakeFailed(address: string): void {
    if (this.#limits.length === 0 || this.firstRead?.trusts(address)) return
    this.#context.sourceLimits.fail(
      this.rule.owner,
      this.#limits,
      canonicalAddress(address),
      this.#sourceOver
    )
  }

  readonly #sourceOver = ({ name: limit }: SourceLimit, source: string): void =>
    this.#context.emit({ kind: 'source-over', ruleId: this.rule.id, source, limit })

  targetRefusal(address: string, port: number, host: string): string | null {
    const isLoop = this.#context.ownPorts.includes(address, port)
    return isLoop ? 'loop' : this.#filters.target(address, port, host)
  }

  /** Returns the allowed addresses, and why the first refused one is refused, or null. */
  allowedAddresses(addresses: readonly string[], port: number, host: string) {
    let refusal: string | null = null
    const allowed = addresses.filter(address => {
      const reason = this.targetRefusal(address, port, host)
      refusal ??= reason
      return reason === null
    })
    return { allowed, refusal }
  }

  portCounters(port: number): LivePortCounters {
    const counters = this.counters.ports[port - this.rule.from]
    if (!counters) throw new TypeError(`the rule has no port ${port}`)
    return counters
  }

  /** Returns the canonical addresses of a target's host. The signal ends the wait for DNS. */
  async addressesOf(host: string, signal: AbortSignal): Promise<readonly string[] | DialFailure> {
    if (isIP(host) !== 0) return [canonicalAddress(host)]
    const { promise: aborted, resolve } = Promise.withResolvers<null>()
    const onAbort = () => resolve(null)
    signal.addEventListener('abort', onAbort)
    const answer = await Promise.race([this.#context.resolve(this.rule.id, host), aborted])
    signal.removeEventListener('abort', onAbort)

    if (answer === null) return { failure: null }
    if (answer.ok) return answer.addresses.map(canonicalAddress)
    this.counters.dnsFailures++
    this.#context.emit({ kind: 'dns-failed', ruleId: this.rule.id, host, reason: answer.reason })
    return { failure: answer.reason, isLookup: true }
  }
}
