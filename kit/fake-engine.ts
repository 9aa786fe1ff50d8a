import type { Duplex } from 'node:stream'
import type { DialAnswer } from '../agent/engine/dial-request.ts'
import {
  type AddressChange,
  type Budget,
  type Counters,
  type Engine,
  type EngineEvent,
  type EngineOptions,
  type EngineRule,
  type Filters,
  type Meter,
  type MeterCounters,
  peekBoundsMs,
  type Resolved,
  type Sample
} from '../agent/engine/engine.ts'
import { type EngineFault, engineFault } from '../agent/engine/engine-fault.ts'
import type { ConnectionSelection, OpenConnection, OpenConnections } from '../agent/engine/open-connection.ts'
import type { AddressGuard } from '../agent/engine/source-guard.ts'
import { canonicalAddress, familyOf } from '../agent/net/address.ts'
import { parsePrefixes } from '../agent/net/address-prefix.ts'
import { snapshot, zeroCounters } from '../agent/portable-engine/live-counters.ts'
import { addressForms } from '../kernel/platform/address-forms.ts'

/** Records all calls and reports the counters and events that a test sets. It forwards nothing. */
export class FakeEngine implements Engine {
  readonly rules = new Map<number, EngineRule>() // open, by id
  readonly opened: EngineRule[] = [] // every call of `open`, in order, including refused ones
  readonly replaced: number[] = [] // the ids that calls of `open` have replaced
  readonly closed: { readonly ruleId: number; readonly drainMs: number | null }[] = []
  readonly targetsReset: { readonly ruleId: number; readonly targets: readonly number[] }[] = []
  readonly resets: { readonly ruleId: number; readonly keep: Pick<EngineRule, 'from' | 'to'> | null }[] = []
  readonly filtersSet: { readonly ruleId: number; readonly filters: Filters }[] = []
  readonly addresses = new Map<string, Set<string>>() // by name of the set
  readonly weightsSet: { readonly ruleId: number; readonly weights: readonly number[] }[] = []
  readonly shares = new Map<number, readonly number[]>() // by rule id
  readonly meters = new Map<number, Meter>() // by id
  readonly budgets = new Map<number, Budget>() // by meter id
  readonly answers = new Map<number, Resolved>() // to 'resolve' events, by token
  readonly dialAnswers = new Map<number, DialAnswer>() // to 'dial' events, by token
  readonly dialStreams = new Map<number, Duplex>() // the results of `dialed`, by token; default: null
  freeDescriptors = 1_000 // of each owner
  openConnections: readonly OpenConnection[] = [] // the constant result of `connections`
  readonly connectionsEnded: ConnectionSelection[] = []
  isStopped = false
  readonly #counters = new Map<number, Counters>() // of open and draining rules
  readonly #meterCounters = new Map<number, MeterCounters>()
  #onEvents: EngineOptions['onEvents'] = () => {}
  #refusal: EngineFault['code'] | null = null
  #peekDurations: Sample['peekDurations'] = { counts: peekBoundsMs.map(() => 0).concat(0), sumMs: 0 }
  #holdsDrains = false

  /** Replaces the function that opens a real engine. */
  readonly start = (options: EngineOptions): FakeEngine => {
    this.#onEvents = options.onEvents
    return this
  }

  changeAddresses(name: string, { add, remove }: AddressChange): void {
    const set = this.addresses.get(name) ?? new Set()
    this.addresses.set(name, set)
    for (const one of remove) set.delete(one)
    for (const one of add) set.add(one)
  }

  guardRefusal(ruleId: number, address: string): string | null {
    const refuses = ({ allow, deny }: AddressGuard): boolean =>
      addressForms(canonicalAddress(address)).some(
        form => this.#isIn(deny, form) || (allow !== null && !this.#isIn(allow, form))
      )
    return this.rules.get(ruleId)?.addressGuards.find(refuses)?.refusal ?? null
  }

  divertOf(ruleId: number, address: string): string | null {
    const forms = addressForms(canonicalAddress(address))
    const { diverts = [] } = this.rules.get(ruleId) ?? {}
    return diverts.find(({ from }) => forms.some(form => this.#isIn(from, form)))?.name ?? null
  }

  /** Reads `addresses`, as real engines read their sets. */
  #isIn(sets: readonly string[], address: string): boolean {
    return sets.some(set =>
      parsePrefixes([...(this.addresses.get(set) ?? [])]).check(address, familyOf(address))
    )
  }

  async open(rule: EngineRule, replaces?: number): Promise<void> {
    this.opened.push(rule)
    const code = this.isStopped ? 'ESTOPPED' : this.#refusal
    this.#refusal = null
    if (code !== null) throw engineFault(code, `port ${rule.from}: ${code}`)
    if (replaces !== undefined) this.replaced.push(replaces)
    this.rules.set(rule.id, rule)
    this.#counters.set(rule.id, snapshot(zeroCounters(rule)))
    if (rule.shares) this.shares.set(rule.id, rule.shares)
  }

  async close(ruleId: number, drainMs: number | null): Promise<void> {
    this.closed.push({ ruleId, drainMs })
    this.rules.delete(ruleId)
    if (!this.#holdsDrains || drainMs === 0) queueMicrotask(() => this.finishDrain(ruleId))
  }

  resetTargets(ruleId: number, targets: readonly number[]): void {
    this.targetsReset.push({ ruleId, targets })
  }

  reset(ruleId: number, keep: Pick<EngineRule, 'from' | 'to'> | null): void {
    this.resets.push({ ruleId, keep })
  }

  setFilters(ruleId: number, filters: Filters): void {
    this.filtersSet.push({ ruleId, filters })
  }

  setWeights(ruleId: number, weights: readonly number[]): void {
    this.weightsSet.push({ ruleId, weights })
  }

  setShares(ruleId: number, shares: readonly number[]): void {
    this.shares.set(ruleId, shares)
  }

  connections(): OpenConnections {
    const rows = this.openConnections
    const sum = (key: 'bytesIn' | 'bytesOut') => rows.reduce((total, row) => total + row[key], 0)
    return { matched: rows.length, bytesIn: sum('bytesIn'), bytesOut: sum('bytesOut'), rows }
  }

  endConnections(selection: ConnectionSelection): number {
    this.connectionsEnded.push(selection)
    return this.openConnections.length
  }

  reserveDescriptor(): (() => void) | null {
    if (this.freeDescriptors === 0) return null
    this.freeDescriptors--
    return () => {
      this.freeDescriptors++
    }
  }

  resolved(token: number, answer: Resolved): void {
    this.answers.set(token, answer)
  }

  async dialed(token: number, answer: DialAnswer): Promise<Duplex | null> {
    this.dialAnswers.set(token, answer)
    return this.dialStreams.get(token) ?? null
  }

  setMeter(id: number, meter: Meter): void {
    this.meters.set(id, meter)
    if (!this.#meterCounters.has(id))
      this.#meterCounters.set(id, { id, bytesIn: 0, bytesOut: 0, active: 0, throttledMs: 0 })
  }

  setBudget(id: number, budget: Budget | null): void {
    if (budget) this.budgets.set(id, budget)
    else this.budgets.delete(id)
  }

  removeMeter(id: number): void {
    for (const byId of [this.meters, this.#meterCounters, this.budgets]) byId.delete(id)
  }

  readonly sample = (): Sample => ({
    rules: [...this.#counters.values()],
    meters: [...this.#meterCounters.values()],
    peekDurations: { ...this.#peekDurations },
    eventsDropped: 0
  })

  readonly stop = async (): Promise<void> => {
    if (this.isStopped) return
    this.isStopped = true
    this.rules.clear()
    for (const ruleId of [...this.#counters.keys()]) this.finishDrain(ruleId)
  }

  /** Sets counters of a rule for `sample` and 'closed'; omitted ones stay. */
  setCounters(ruleId: number, changes: Partial<Counters>): void {
    const counters = this.#counters.get(ruleId)
    if (!counters) throw new TypeError(`the fake engine has no rule ${ruleId}`)
    this.#counters.set(ruleId, { ...counters, ...changes })
  }

  setMeterCounters(meterId: number, changes: Partial<MeterCounters>): void {
    const counters = this.#meterCounters.get(meterId)
    if (!counters) throw new TypeError(`the fake engine has no meter ${meterId}`)
    this.#meterCounters.set(meterId, { ...counters, ...changes })
  }

  setPeekDurations(counts: readonly number[], sumMs: number): void {
    this.#peekDurations = { counts, sumMs }
  }

  refuseNextOpen(code: EngineFault['code']): void {
    this.#refusal = code
  }

  /** Makes every later drain last until `finishDrain`, not only until the next microtask. */
  holdDrains(): void {
    this.#holdsDrains = true
  }

  finishDrain(ruleId: number): void {
    const last = this.#counters.get(ruleId)
    if (!last) return
    this.#counters.delete(ruleId)
    const ports = last.ports.map(port => ({ ...port, active: 0 }))
    this.emit({ kind: 'closed', counters: { ...last, ports } })
  }

  emit(...events: EngineEvent[]): void {
    this.#onEvents(events)
  }
}

export const fakeEngine = (): FakeEngine => new FakeEngine()
