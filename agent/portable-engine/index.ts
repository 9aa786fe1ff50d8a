// The data plane over Node's net and dgram, for any platform. It runs where the native engine does not load, and is
// the reference that the native engine is tested against.
import type {
  Budget,
  Engine,
  EngineOptions,
  EngineRule,
  Filters,
  Meter,
  Resolved,
  Sample
} from '../engine.ts'
import { snapshot } from './counters.ts'
import type { EngineContext } from './engine-context.ts'
import { batchEvents, type EngineEvents } from './engine-events.ts'
import { checkRule, fault } from './engine-fault.ts'
import { Meters } from './meters/meters.ts'
import { Descriptors } from './net/descriptors.ts'
import { OwnPorts } from './net/own-ports.ts'
import type { OpenRule } from './rule-state.ts'
import { Listeners } from './tcp/listeners.ts'
import { PeekHistogram } from './tcp/peek-histogram.ts'
import { TcpRule } from './tcp/tcp-rule.ts'
import { UdpRule } from './udp/udp-rule.ts'

export const openPortableEngine = (options: EngineOptions): Engine => new PortableEngine(options)

class PortableEngine implements Engine {
  readonly #rules = new Map<number, OpenRule>() // open and draining
  readonly #lookups = new Map<number, (answer: Resolved) => void>() // by token
  readonly #events: EngineEvents
  readonly #tcp: EngineContext
  readonly #udp: EngineContext
  readonly #listeners: Listeners
  #lastToken = 0
  #stopping: Promise<void> | null = null

  constructor({ bind, onEvents }: EngineOptions) {
    this.#events = batchEvents(onEvents)
    const shared = {
      bind,
      descriptors: new Descriptors(),
      meters: new Meters(meterId => this.#events.emit({ kind: 'meter-empty', meterId })),
      peeks: new PeekHistogram(),
      emit: this.#events.emit,
      resolve: this.#resolve.bind(this)
    }
    this.#tcp = { ...shared, ownPorts: new OwnPorts(bind) }
    this.#udp = { ...shared, ownPorts: new OwnPorts(bind) }
    this.#listeners = new Listeners(this.#tcp)
  }

  async open(rule: EngineRule): Promise<void> {
    this.#refuseWhenStopped(rule)
    if (this.#rules.has(rule.id)) throw new TypeError(`engine rule ${rule.id} is already open`)
    checkRule(rule)
    const opening =
      rule.protocol === 'udp' ? new UdpRule(rule, this.#udp) : new TcpRule(rule, this.#tcp, this.#listeners)
    await opening.open()
    if (this.#stopping) opening.close(0)
    this.#refuseWhenStopped(rule)
    this.#rules.set(rule.id, opening)
    void this.#removeWhenEnded(opening)
  }

  async close(ruleId: number, drainMs: number): Promise<void> {
    this.#rules.get(ruleId)?.close(drainMs)
  }

  setFilters(ruleId: number, filters: Filters): void {
    this.#rules.get(ruleId)?.setFilters(filters)
  }

  setMeter(id: number, meter: Meter): void {
    this.#tcp.meters.set(id, meter)
  }

  setBudget(meterId: number, budget: Budget | null): void {
    if (!this.#stopping) this.#tcp.meters.setBudget(meterId, budget)
  }

  removeMeter(id: number): void {
    this.#tcp.meters.remove(id)
  }

  resolved(token: number, answer: Resolved): void {
    this.#lookups.get(token)?.(answer)
    this.#lookups.delete(token)
  }

  // `sample` and `stop` are bound, since the agent passes them on as functions.
  readonly sample = (): Sample => ({
    rules: [...this.#rules.values()].map(({ state }) => snapshot(state.counters)),
    meters: this.#tcp.meters.sample(),
    peekDurations: this.#tcp.peeks.sample(),
    eventsDropped: 0
  })

  readonly stop = (): Promise<void> => {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  #refuseWhenStopped({ from }: EngineRule): void {
    if (this.#stopping) throw fault('ESTOPPED', `port ${from} is not opened: the engine has stopped`)
  }

  #resolve(ruleId: number, host: string): Promise<Resolved> {
    return new Promise(resolve => {
      const token = ++this.#lastToken
      this.#lookups.set(token, resolve)
      this.#events.emit({ kind: 'resolve', token, ruleId, host })
    })
  }

  async #removeWhenEnded({ state }: OpenRule): Promise<void> {
    await state.ended
    this.#rules.delete(state.rule.id)
    this.#events.emit({ kind: 'closed', counters: snapshot(state.counters) })
  }

  async #stopAll(): Promise<void> {
    const rules = [...this.#rules.values()]
    for (const rule of rules) rule.close(0)
    await Promise.all(rules.map(({ state }) => state.ended))
    this.#lookups.clear()
    this.#tcp.meters.stop()
    this.#events.flush()
  }
}
