// The data plane over Node's net and dgram, for any platform. It runs where the native engine does not load. It is also
// the reference for tests of the native engine.
import { defaultDeadPeerMs, type Engine, type EngineOptions, type EngineRule } from '../engine/engine.ts'
import { engineFault } from '../engine/engine-fault.ts'
import { AddressSet } from '../net/address-set.ts'
import { batchEvents, type EventBatch } from './batch-events.ts'
import { checkRule } from './check-rule.ts'
import { EndedConnections } from './ended-connections.ts'
import type { EngineContext } from './engine-context.ts'
import { snapshot } from './live-counters.ts'
import { Meters } from './meters/meters.ts'
import { Descriptors } from './net/descriptors.ts'
import { LocalPorts } from './net/local-ports.ts'
import { OwnPorts } from './net/own-ports.ts'
import { pageOf, selectConnections } from './open-connections.ts'
import { SourceLimits } from './source-limits.ts'
import { TargetDials } from './target-dials.ts'
import { TargetNames } from './target-names.ts'
import { Listeners } from './tcp/listeners.ts'
import { PeekHistogram } from './tcp/peek-histogram.ts'
import { PeerWatch } from './tcp/peer-watch.ts'
import { TcpRule } from './tcp/tcp-rule.ts'
import { UdpRule } from './udp/udp-rule.ts'

export const openPortableEngine = (options: EngineOptions): Engine => new PortableEngine(options)

/** All methods are bound, since the agent passes some of them as functions. */
class PortableEngine implements Engine {
  readonly #rules = new Map<number, TcpRule | UdpRule>() // open and draining
  readonly #opening = new Set<number>() // rule ids
  readonly #events: EventBatch
  readonly #meters = new Meters(meterId => this.#events.emit({ kind: 'meter-empty', meterId }))
  readonly #peeks = new PeekHistogram()
  readonly #names = new TargetNames(event => this.#events.emit(event))
  readonly #dials = new TargetDials(event => this.#events.emit(event))
  readonly #ended = new EndedConnections(event => this.#events.emit(event))
  readonly #addressSets = new Map<string, AddressSet>() // by name
  readonly #tcp: EngineContext
  readonly #udp: EngineContext
  readonly #listeners: Listeners
  #stopping: Promise<void> | null = null

  constructor({ bind, onEvents, deadPeerMs = defaultDeadPeerMs }: EngineOptions) {
    this.#events = batchEvents(onEvents)
    const shared = {
      bind,
      descriptors: new Descriptors(),
      localPorts: new LocalPorts(),
      meters: this.#meters,
      peeks: this.#peeks,
      peers: new PeerWatch(deadPeerMs),
      ended: this.#ended,
      sourceLimits: new SourceLimits(),
      addressSet: this.#addressSet,
      emit: this.#events.emit,
      resolve: (ruleId: number, host: string) => this.#names.resolve(ruleId, host),
      askForDial: this.#dials.ask
    }
    this.#tcp = { ...shared, ownPorts: new OwnPorts(bind) }
    this.#udp = { ...shared, ownPorts: new OwnPorts(bind) }
    this.#listeners = new Listeners(this.#tcp)
  }

  readonly open: Engine['open'] = async (rule, replaces) => {
    this.#refuseWhenStopped(rule)
    if (this.#rules.has(rule.id) || this.#opening.has(rule.id))
      throw engineFault('EINVAL', `rule ${rule.id} is already open`)
    checkRule(rule)
    const { opening, open } = this.#newRule(rule, this.#rules.get(replaces ?? 0))
    this.#opening.add(rule.id)
    try {
      await open()
    } catch (error) {
      opening.state.end()
      throw error
    } finally {
      this.#opening.delete(rule.id)
    }
    if (this.#stopping) opening.close(0)
    this.#refuseWhenStopped(rule)
    this.#rules.set(rule.id, opening)
    void this.#removeWhenEnded(opening)
  }
  readonly close: Engine['close'] = async (ruleId, drainMs) => {
    const rule = this.#rules.get(ruleId)
    if (drainMs !== 0 && rule instanceof TcpRule) await rule.acceptWaiting()
    rule?.close(drainMs)
  }
  readonly resetTargets: Engine['resetTargets'] = (ruleId, targets) =>
    this.#rules.get(ruleId)?.resetTargets(targets)
  readonly reset: Engine['reset'] = (ruleId, keep) => this.#rules.get(ruleId)?.reset(keep)
  readonly setFilters: Engine['setFilters'] = (ruleId, filters) =>
    this.#rules.get(ruleId)?.setFilters(filters)
  readonly changeAddresses: Engine['changeAddresses'] = (name, { add, remove }) => {
    const set = this.#addressSet(name)
    set.change(add, remove)
    for (const rule of this.#rules.values()) if (rule.state.isGuardedBy(set)) rule.recheckFilters()
  }
  readonly connections: Engine['connections'] = query => pageOf(this.#live(), query)
  readonly endConnections: Engine['endConnections'] = selection => {
    const ending = selectConnections(this.#live(), selection)
    for (const live of ending) live.end()
    return ending.length
  }
  readonly reserveDescriptor: Engine['reserveDescriptor'] = owner => this.#tcp.descriptors.reserveOwn(owner)
  readonly guardRefusal: Engine['guardRefusal'] = (ruleId, address) =>
    this.#rules.get(ruleId)?.state.guardRefusal(address) ?? null
  readonly divertOf: Engine['divertOf'] = (ruleId, address) =>
    this.#rules.get(ruleId)?.state.divertOf(address) ?? null
  readonly setWeights: Engine['setWeights'] = (ruleId, weights) =>
    this.#rules.get(ruleId)?.state.setWeights(weights)
  readonly setShares: Engine['setShares'] = (ruleId, shares) =>
    this.#rules.get(ruleId)?.state.setShares(shares)
  readonly setMeter: Engine['setMeter'] = (id, meter) => this.#meters.set(id, meter)
  readonly removeMeter: Engine['removeMeter'] = id => this.#meters.remove(id)
  readonly setBudget: Engine['setBudget'] = (meterId, budget) => {
    if (!this.#stopping) this.#meters.setBudget(meterId, budget)
  }
  readonly resolved: Engine['resolved'] = (token, answer) => this.#names.answered(token, answer)
  readonly dialed: Engine['dialed'] = (token, answer) => this.#dials.answered(token, answer)
  readonly sample: Engine['sample'] = () => ({
    rules: [...this.#rules.values()].map(({ state }) => snapshot(state.counters)),
    meters: this.#meters.sample(),
    peekDurations: this.#peeks.sample(),
    eventsDropped: 0
  })
  readonly stop: Engine['stop'] = () => (this.#stopping ??= this.#stopAll())

  readonly #addressSet = (name: string): AddressSet => {
    const set = this.#addressSets.get(name) ?? new AddressSet()
    this.#addressSets.set(name, set)
    return set
  }

  /** Returns a rule, and a function that opens it to replace `replaced`. */
  #newRule(rule: EngineRule, replaced: TcpRule | UdpRule | undefined) {
    if (rule.protocol === 'udp') {
      const old = replaced instanceof UdpRule ? replaced : null
      const opening = new UdpRule(rule, this.#udp, old)
      return { opening, open: () => opening.open(old) }
    }
    const old = replaced instanceof TcpRule ? replaced : null
    const opening = new TcpRule(rule, this.#tcp, this.#listeners, old)
    return { opening, open: () => opening.open(old) }
  }

  #live = () => [...this.#rules.values()].flatMap(rule => rule.live())

  #refuseWhenStopped({ from }: EngineRule): void {
    if (this.#stopping) throw engineFault('ESTOPPED', `port ${from} is not opened: the engine has stopped`)
  }

  async #removeWhenEnded({ state }: TcpRule | UdpRule): Promise<void> {
    await state.ended
    this.#rules.delete(state.rule.id)
    this.#names.forget(state.rule.id)
    this.#ended.flush()
    this.#events.emit({ kind: 'closed', counters: snapshot(state.counters) })
  }

  async #stopAll(): Promise<void> {
    const rules = [...this.#rules.values()]
    for (const rule of rules) rule.close(0)
    await Promise.all(rules.map(({ state }) => state.ended))
    this.#names.stop()
    this.#meters.stop()
    this.#events.flush()
  }
}
