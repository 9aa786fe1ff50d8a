import { isDeepStrictEqual } from 'node:util'
import { lowPortRemedy } from '../../config/low-port.ts'
import type { Log } from '../../kernel/base/log.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Engine, EngineFault } from '../engine.ts'
import type { Journal } from '../journal/journal.ts'
import type { AgentRules, MeterUse, RuleSettings, RuleSpec } from '../plugin.ts'
import type { RuleSettingsStore } from '../state/rule-settings.ts'
import type { Closings } from './closings.ts'
import type { FieldRules } from './field-rules.ts'
import type { Meters } from './meters.ts'
import { ownMeterIn, type Plan, type Planner } from './planner.ts'

interface Options {
  readonly engine: Pick<Engine, 'open' | 'close' | 'setFilters' | 'setWeights'>
  readonly planner: () => Planner
  readonly meters: Meters
  readonly fieldRules: FieldRules
  readonly closings: Pick<Closings, 'forget' | 'reasons'>
  readonly journal: Pick<Journal, 'bind' | 'unbind'>
  readonly settings: RuleSettingsStore
  readonly log: Log
}

/** A rule in the engine, from its opening until its last connection has ended. */
interface EngineEntry {
  spec: RuleSpec
  readonly meters: readonly MeterUse[]
}

interface RunningRule {
  readonly engineId: number
  readonly settings: RuleSettings // at its opening: later ones apply to rules that open later
  plan: Plan
}

/** `promise` resolves when the rule has ended. */
type ClosingRule = PromiseWithResolvers<void> & { readonly ruleId: string }

/**
 * A rule is running, then closing while it drains, then gone. A changed rule is closed and opened again under a new
 * engine id, so that one rule id can have several closing rules and one running.
 */
export class Rules implements AgentRules {
  readonly #options: Options
  readonly #entries = new Map<number, EngineEntry>() // running and closing, by engine id
  readonly #running = new Map<string, RunningRule>() // by rule id
  readonly #closing = new Map<number, ClosingRule>() // by engine id
  #lastId = 0

  constructor(options: Options) {
    this.#options = options
  }

  async open(spec: RuleSpec): Promise<void> {
    const { planner, settings } = this.#options
    const running = this.#running.get(spec.id)
    const plan = planner().plan(spec, running?.settings ?? settings.current())
    if (running && this.#changesLive(running, spec, plan)) return this.#update(running, spec, plan)
    if (running) await this.#close(spec.id, 'drain')
    await this.#openNew(spec, running ? planner().plan(spec, settings.current()) : plan)
  }

  /** Closes a rule. A second close with 'cut' ends the connections that are still draining. */
  async close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }> {
    const closed = await this.#close(ruleId, removal)
    this.#options.fieldRules.leave(ruleId)
    return closed
  }

  async #close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }> {
    const { engine, settings, log } = this.#options
    const running = this.#running.get(ruleId)
    this.#running.delete(ruleId)
    if (running) this.#closing.set(running.engineId, { ruleId, ...Promise.withResolvers<void>() })
    const closing = [...this.#closing].filter(([, rule]) => rule.ruleId === ruleId)
    const toClose = closing.filter(([engineId]) => removal === 'cut' || engineId === running?.engineId)
    const drainMs = removal === 'cut' ? 0 : settings.current().drainMs
    await Promise.all(toClose.map(([engineId]) => engine.close(engineId, drainMs)))
    if (running) log.info('rule.closed', `no longer listens on ${portsOf(running.plan)}`, { rule: ruleId })
    return { done: Promise.all(closing.map(([, { promise }]) => promise)).then(() => {}) }
  }

  /** Closes all rules; resolves when every drain has ended. */
  async closeAll(removal: 'drain' | 'cut'): Promise<void> {
    const closing = [...this.#closing.values()].map(({ ruleId }) => ruleId)
    const ids = new Set([...this.#running.keys(), ...closing])
    const closed = await Promise.all([...ids].map(ruleId => this.#close(ruleId, removal)))
    await Promise.all(closed.map(({ done }) => done))
  }

  /** Releases a rule whose last connection has ended: the engine has sent 'closed'. */
  ended(engineId: number): void {
    this.#closing.get(engineId)?.resolve()
    this.#closing.delete(engineId)
    this.#release(engineId)
  }

  closed(): ReadonlyMap<string, string> {
    const reasons = this.#options.closings.reasons()
    if (reasons.size === 0) return reasons
    const closed = [...this.#running].flatMap(([ruleId, { engineId }]) => {
      const reason = reasons.get(ownMeterIn(this.#entries.get(engineId)?.meters ?? []))
      return reason === undefined ? [] : [[ruleId, reason] as const]
    })
    return new Map(closed)
  }

  applyOrderOf = (spec: RuleSpec) =>
    this.#options.planner().applyOrderOf(spec, this.#options.settings.current())
  configure = (settings: Partial<RuleSettings>) => this.#options.settings.save(settings)
  runningCount = () => this.#running.size
  isOpen = (ruleId: string) => this.#running.has(ruleId)
  having: AgentRules['having'] = field => this.#options.fieldRules.having(field)
  find = (engineId: number) => this.#entries.get(engineId)?.spec

  async #openNew(spec: RuleSpec, plan: Plan): Promise<void> {
    const { engine, planner, meters, fieldRules, journal, settings, log } = this.#options
    const engineId = ++this.#lastId
    const uses = planner().metersOf(spec)
    const meterIds = meters.join(uses)
    this.#entries.set(engineId, { spec, meters: uses })
    journal.bind(engineId, { id: spec.id, owner: spec.owner, targets: plan.targets })
    try {
      planner().setMeters(spec, meters, 'open')
      fieldRules.enter(spec, ownMeterIn(uses))
      await engine.open({ ...plan, id: engineId, meters: meterIds })
    } catch (error) {
      journal.unbind(engineId)
      fieldRules.leave(spec.id)
      this.#release(engineId)
      throw refusalOf(error, plan)
    }
    this.#running.set(spec.id, { engineId, settings: settings.current(), plan })
    log.info('rule.opened', `listens on ${plan.protocol} ${portsOf(plan)}`, { rule: spec.id })
  }

  setWeights(ruleId: string, weights: readonly number[]): void {
    const running = this.#running.get(ruleId)
    if (!running) return
    try {
      this.#options.engine.setWeights(running.engineId, weights)
    } catch (error) {
      throw refusalOf(error, running.plan)
    }
  }

  /** Returns true if nothing differs but what changes without reopening. */
  #changesLive({ engineId, plan: running }: RunningRule, spec: RuleSpec, plan: Plan): boolean {
    const meters = this.#entries.get(engineId)?.meters
    return (
      isDeepStrictEqual(withLivePartsOf(running, plan), running) &&
      isDeepStrictEqual(this.#options.planner().metersOf(spec), meters)
    )
  }

  /** Changes filters, weights and limits; everything else is equal. */
  #update(running: RunningRule, spec: RuleSpec, plan: Plan): void {
    const { engine, planner, meters, fieldRules } = this.#options
    const entry = this.#entries.get(running.engineId)
    if (!entry) throw new TypeError(`the running rule ${spec.id} has no entry`)
    entry.spec = spec
    planner().setMeters(spec, meters, 'open')
    fieldRules.enter(spec, ownMeterIn(entry.meters))
    if (isDeepStrictEqual(plan, running.plan)) return
    engine.setFilters(running.engineId, filtersOf(plan))
    if (plan.balance && !isDeepStrictEqual(plan.balance, running.plan.balance))
      this.setWeights(spec.id, plan.balance.weights)
    running.plan = plan
  }

  /** Lifts the rule's limits, too, unless a successor with the same rule id is in the engine. */
  #release(engineId: number): void {
    const { planner, meters, closings } = this.#options
    const entry = this.#entries.get(engineId)
    if (!entry) return
    this.#entries.delete(engineId)
    const hasSuccessor = [...this.#entries.values()].some(({ spec }) => spec.id === entry.spec.id)
    if (!hasSuccessor) closings.forget(ownMeterIn(entry.meters))
    meters.leave(entry.meters)
    if (!hasSuccessor) planner().setMeters(entry.spec, meters, 'ended')
  }
}

const filtersOf = ({ source, target }: Plan) => ({ source, target })

/** Returns the plan with those parts of a running one that change without reopening. */
function withLivePartsOf(running: Plan, plan: Plan): Plan {
  const balance = plan.balance && { ...plan.balance, weights: (running.balance ?? plan.balance).weights }
  return { ...plan, ...filtersOf(running), balance }
}

const portsOf = ({ from, to }: Plan): string => (from === to ? `${from}` : `${from}-${to}`)

/** Translates an EngineFault into a refusal that the server knows. */
function refusalOf(error: unknown, { from }: Pick<Plan, 'from'>): Refused {
  if (error instanceof Refused) return error // thrown by a plugin
  const { code, message } = error as EngineFault // `engine.open` rejects with nothing else
  const text = message + lowPortRemedy(error, from)
  return new Refused(code === 'EADDRINUSE' ? 'port_in_use' : 'activation_failed', text, { cause: error })
}
