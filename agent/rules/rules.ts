import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../kernel/base/clock.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { lowPortRemedy } from '../../kernel/platform/low-port.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { checkShares } from '../engine/balance.ts'
import type { Engine, EngineTarget, Filters } from '../engine/engine.ts'
import type { EngineFault } from '../engine/engine-fault.ts'
import type { Journal } from '../journal/journal.ts'
import type {
  AgentRules,
  Closing,
  MeterUse,
  ProbedChange,
  RuleSettings,
  RuleSpec,
  TargetEvent,
  TargetShare
} from '../plugin.ts'
import type { RuleSettingsStore } from '../state/rule-settings.ts'
import { EngineRules } from './engine-rules.ts'
import type { FieldRules } from './field-rules.ts'
import type { Meters } from './meters.ts'
import { ownMeterIn, type Plan, type Planner } from './planner.ts'
import type { RuleClosings } from './rule-closings.ts'
import { TargetShares } from './target-shares.ts'

interface Options {
  readonly engine: Pick<
    Engine,
    'open' | 'close' | 'reset' | 'resetTargets' | 'setFilters' | 'setWeights' | 'setShares'
  >
  readonly planner: () => Planner
  readonly meters: Meters
  readonly fieldRules: FieldRules
  readonly closings: Pick<RuleClosings, 'set' | 'forget' | 'reasons' | 'isPortClosed' | 'onChange' | 'onCut'>
  readonly journal: Pick<Journal, 'bind' | 'unbind'>
  readonly settings: RuleSettingsStore
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
  readonly emit: (event: TargetEvent) => void
}

interface RunningRule {
  spec: RuleSpec
  plan: Plan
  readonly settings: RuleSettings // of the opening: changes apply to rules that open later
  readonly uses: readonly MeterUse[]
  engineId: number | null // of the engine rule that takes callers; null: the port is closed
}

/** A port that could not be opened again. */
interface Reopening {
  readonly reason: string
  readonly afterMs: number // to wait after the next failure
  readonly cancel: Release
}

/** The key under which the server's pause closes a rule, beside the keys of fields. */
const pauseKey = 'pause of the server'
const firstReopenMs = 1000
const maxReopenMs = 60_000

/**
 * A rule is running, then closing while it drains, then gone. A change opens the new engine rule before it closes the old
 * one: the new one takes over the ports, and live connections continue. Operations on one rule run one after another.
 */
export class Rules implements AgentRules {
  readonly #options: Options
  readonly #engineRules: EngineRules
  readonly #shares: TargetShares
  readonly #running = new Map<string, RunningRule>() // by rule id
  readonly #ruleOf = new Map<string, string>() // rule id by meter key
  readonly #turns = new Map<string, Promise<unknown>>() // the last operation by rule id
  readonly #reopening = new Map<string, Reopening>() // by rule id
  readonly #drains = new Set<Release>() // timers for connections of removed ports or targets
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
    this.#shares = new TargetShares(options.emit)
    const shares = this.#shares
    this.#engineRules = new EngineRules({
      ...options,
      shares,
      ended: ({ spec, uses }) => this.#release(spec, uses)
    })
    options.closings.onChange(meter => this.#closingChanged(meter))
    options.closings.onCut(meter => this.#endFlows(meter))
  }

  open(spec: RuleSpec): Promise<void> {
    return this.#inTurn(spec.id, async () => {
      const running = this.#running.get(spec.id)
      await (running ? this.#change(running, spec) : this.#begin(spec))
    })
  }

  reportProbe(ruleId: string, change: ProbedChange): void {
    const rule = this.#running.get(ruleId)?.spec
    if (rule) this.#options.emit({ kind: 'target-probed', rule, ...change })
  }

  async replan(): Promise<void> {
    const { log } = this.#options
    const again = [...this.#running.values()].map(async ({ spec: { id } }) => {
      try {
        await this.#inTurn(id, async () => {
          const running = this.#running.get(id)
          if (running) await this.#change(running, running.spec)
        })
      } catch (error) {
        log.warn('rule.replan_failed', `the rule is unchanged: ${reasonOf(error)}`, { rule: id })
      }
    })
    await Promise.all(again)
  }

  /** Closes a rule. A second close with 'cut' ends the connections that are still draining. */
  async close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }> {
    const closed = await this.#inTurn(ruleId, () => this.#close(ruleId, removal))
    this.#options.fieldRules.leave(ruleId)
    return closed
  }

  /** Closes all rules. Resolves when every drain has ended. */
  async closeAll(removal: 'drain' | 'cut'): Promise<void> {
    this.#isStopped = true
    for (const release of this.#drains) void release()
    const ids = new Set([...this.#running.keys(), ...this.#engineRules.ruleIds()])
    const closed = await Promise.all(
      [...ids].map(ruleId => this.#inTurn(ruleId, () => this.#close(ruleId, removal)))
    )
    await Promise.all(closed.map(({ done }) => done))
  }

  /** Releases an engine rule after its last connection has ended: the engine has sent 'closed'. */
  ended = (engineId: number): void => this.#engineRules.ended(engineId)

  closed(): ReadonlyMap<string, string> {
    const closed = new Map([...this.#reopening].map(([ruleId, { reason }]) => [ruleId, reason]))
    for (const [meter, reason] of this.#options.closings.reasons()) {
      const ruleId = this.#ruleOf.get(meter)
      if (ruleId !== undefined) closed.set(ruleId, reason)
    }
    return closed
  }

  applyOrderOf = (spec: RuleSpec) =>
    this.#options.planner().applyOrderOf(spec, this.#options.settings.current())
  configure = (settings: Partial<RuleSettings>) => this.#options.settings.save(settings)
  runningCount = () => this.#running.size
  isOpen = (ruleId: string) => this.#running.has(ruleId)
  having: AgentRules['having'] = field => this.#options.fieldRules.having(field)
  engineIds = (matches: (spec: RuleSpec) => boolean) => this.#engineRules.matching(matches)
  targetsMatching = (matches: (target: EngineTarget) => boolean) => this.#engineRules.targetsMatching(matches)
  standings: AgentRules['standings'] = ruleId => {
    const { spec } = this.#running.get(ruleId) ?? {}
    return spec ? this.#shares.standings(spec) : []
  }
  find = (engineId: number) => this.#engineRules.find(engineId)?.spec
  entry = (engineId: number): Pick<RunningRule, 'spec' | 'plan'> | undefined =>
    this.#engineRules.find(engineId)
  running = (ruleId: string): Pick<RunningRule, 'spec' | 'plan' | 'engineId'> | undefined =>
    this.#running.get(ruleId)
  listens = (protocol: Plan['protocol'], port: number): boolean =>
    [...this.#running.values()].some(
      ({ plan, engineId }) =>
        engineId !== null && plan.protocol === protocol && plan.from <= port && port <= plan.to
    )

  setWeights(ruleId: string, weights: readonly number[]): void {
    const { engineId = null, plan } = this.#running.get(ruleId) ?? {}
    if (engineId === null || !plan) return
    try {
      this.#options.engine.setWeights(engineId, weights)
    } catch (error) {
      throw refusalOf(error, plan)
    }
  }

  setShares(ruleId: string, shares: readonly TargetShare[]): void {
    const { spec, plan, engineId = null } = this.#running.get(ruleId) ?? {}
    if (!spec || !plan?.balance) return
    try {
      const numbers = shares.map(share => (typeof share === 'number' ? share : 0))
      checkShares(numbers, plan.targets.length)
      if (engineId !== null) this.#options.engine.setShares(engineId, numbers)
    } catch (error) {
      throw refusalOf(error, plan)
    }
    this.#shares.set(spec, shares)
  }

  async #begin(spec: RuleSpec): Promise<void> {
    const { settings, meters, fieldRules } = this.#options
    const rule = this.#planned(spec, settings.current())
    meters.join(rule.uses)
    try {
      this.#enter(rule)
      if (this.#listens(rule)) rule.engineId = await this.#engineRules.open(rule, null)
    } catch (error) {
      this.#forget(rule)
      fieldRules.leave(spec.id)
      throw refusalOf(error, rule.plan)
    }
    this.#log(rule)
  }

  /** Makes the change. If it throws, the rule is as before. */
  async #change(before: RunningRule, spec: RuleSpec): Promise<void> {
    const { settings, meters, log } = this.#options
    const sameSettings = this.#planned(spec, before.settings)
    const isLive = changesLive(before, sameSettings)
    const after = isLive ? sameSettings : this.#planned(spec, settings.current())
    meters.join(after.uses)
    try {
      this.#enter(after)
      if (this.#listens(after))
        after.engineId =
          isLive && before.engineId !== null
            ? before.engineId
            : await this.#engineRules.open(after, before.engineId)
    } catch (error) {
      this.#ruleOf.delete(ownMeterIn(after.uses))
      this.#enter(before)
      meters.leave(after.uses)
      throw refusalOf(error, after.plan)
    }
    if (ownMeterIn(before.uses) !== ownMeterIn(after.uses)) this.#ruleOf.delete(ownMeterIn(before.uses))
    meters.leave(before.uses)
    if (before.engineId !== null && before.engineId !== after.engineId)
      await this.#engineRules.close(before.engineId, this.#leftMs(before, after))
    this.#changeLive(before, after)
    this.#endOthers(before, after)
    if (before.engineId === null || after.engineId === null) this.#log(after)
    else if (!isLive)
      log.info('rule.changed', `listens on ${portsOf(after.plan)} as changed`, { rule: spec.id })
  }

  /** Returns how long connections of the old rule can continue; null: without end, since the limits are the same. */
  #leftMs({ uses }: RunningRule, after: RunningRule): number | null {
    if (isDeepStrictEqual(uses, after.uses)) return null
    return after.spec.existing === 'cut' ? 0 : this.#options.settings.current().drainMs
  }

  #changeLive({ plan: before }: RunningRule, { spec, plan, engineId }: RunningRule): void {
    if (engineId !== null) this.#engineRules.renew(engineId, spec)
    if (!isDeepStrictEqual(filtersOf(plan), filtersOf(before)))
      this.#engineRules.setFilters(spec.id, filtersOf(plan))
    if (plan.balance && !isDeepStrictEqual(plan.balance, before.balance))
      this.setWeights(spec.id, plan.balance.weights)
    if (!plan.balance) this.#shares.delete(spec.id)
    else if (engineId !== null && this.#shares.has(spec.id))
      this.#options.engine.setShares(engineId, this.#shares.engineShares(spec))
  }

  /** Ends connections of removed ports, and of removed targets if the change asks for it. */
  #endOthers({ plan: before }: RunningRule, { spec: { id, existing = 'keep' }, plan }: RunningRule): void {
    const { drainMs } = this.#options.settings.current()
    const endMs = existing === 'cut' ? 0 : drainMs
    if (before.from < plan.from || plan.to < before.to)
      this.#endAfter(endMs, id, now => this.#engineRules.reset(id, now))
    const hasEarlier = this.#engineRules.idsOf(id).length > 1
    if (hasEarlier && existing !== 'keep')
      this.#endAfter(endMs, id, now => this.#engineRules.resetOthers(id, now.targets))
  }

  /** Calls `end` after `ms` with the current plan, if the rule still runs. */
  #endAfter(ms: number, ruleId: string, end: (plan: Plan) => void): void {
    const run = (): void => {
      const plan = this.#running.get(ruleId)?.plan
      if (plan) end(plan)
    }
    if (ms === 0) return void run()
    const release = this.#options.clock.after(ms, () => {
      this.#drains.delete(release)
      run()
    })
    this.#drains.add(release)
  }

  /** Meters reset connections but not flows: the datagrams of flows would be dropped until they are idle. */
  #endFlows(meter: string): void {
    const rule = this.#running.get(this.#ruleOf.get(meter) ?? '')
    if (rule?.plan.protocol === 'udp') this.#engineRules.reset(rule.spec.id, null)
  }

  async #close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }> {
    const { settings, log } = this.#options
    const running = this.#running.get(ruleId)
    const drainMs = removal === 'cut' ? 0 : settings.current().drainMs
    const closing = this.#engineRules.idsOf(ruleId).map(id => this.#engineRules.close(id, drainMs))
    if (running) this.#forget(running)
    await Promise.all(closing)
    if (running) log.info('rule.closed', `no longer listens on ${portsOf(running.plan)}`, { rule: ruleId })
    return { done: this.#engineRules.allEnded(ruleId) }
  }

  #planned(spec: RuleSpec, settings: RuleSettings): RunningRule {
    const planner = this.#options.planner()
    return {
      spec,
      plan: planner.plan(spec, settings),
      settings,
      uses: planner.metersOf(spec),
      engineId: null
    }
  }

  /** Puts the limits of the rule in force. The server's pause and the fields can close or open it. */
  #enter(rule: RunningRule): void {
    const { planner, meters, closings, fieldRules } = this.#options
    const { spec, uses } = rule
    const meter = ownMeterIn(uses)
    this.#running.set(spec.id, rule)
    this.#ruleOf.set(meter, spec.id)
    planner().setMeters(spec, meters, 'open')
    closings.set(meter, pauseKey, spec.paused ? pauseOf(spec) : null)
    fieldRules.enter(spec, meter)
  }

  /** Called when the rule no longer runs. */
  #forget({ spec, uses }: RunningRule): void {
    this.#running.delete(spec.id)
    this.#shares.delete(spec.id)
    this.#ruleOf.delete(ownMeterIn(uses))
    this.#cancelReopening(spec.id)
    this.#release(spec, uses)
  }

  /** Leaves the meters. Lifts limits and closings with the last engine rule, unless the rule runs. */
  #release(spec: RuleSpec, uses: readonly MeterUse[]): void {
    const { planner, meters, closings } = this.#options
    const isGone = !this.#running.has(spec.id) && this.#engineRules.idsOf(spec.id).length === 0
    if (isGone) closings.forget(ownMeterIn(uses))
    meters.leave(uses)
    if (isGone) planner().setMeters(spec, meters, 'ended')
  }

  /** Only an unshared TCP port can be closed. On other ports callers are refused one by one. */
  #listens({ plan, uses }: RunningRule): boolean {
    const mayClose = plan.protocol === 'tcp' && plan.name === null && !plan.fallback
    return !mayClose || !this.#options.closings.isPortClosed(ownMeterIn(uses))
  }

  #closingChanged(meter: string): void {
    const ruleId = this.#ruleOf.get(meter)
    if (ruleId !== undefined) void this.#inTurn(ruleId, () => this.#followClosing(ruleId))
  }

  /** Closes or opens the port according to the current closings. */
  async #followClosing(ruleId: string): Promise<void> {
    const rule = this.#running.get(ruleId)
    if (!rule || this.#isStopped) return
    const { engineId } = rule
    const listens = this.#listens(rule)
    if (!listens) this.#cancelReopening(ruleId)
    if (listens === (engineId !== null)) return
    rule.engineId = null
    try {
      if (engineId === null) rule.engineId = await this.#engineRules.open(rule, null)
      else await this.#engineRules.close(engineId, null)
      this.#cancelReopening(ruleId)
      this.#log(rule)
    } catch (error) {
      this.#reopenLater(rule, refusalOf(error, rule.plan))
    }
  }

  #reopenLater({ spec: { id } }: RunningRule, { code, message }: Refused): void {
    const { clock, log } = this.#options
    const { afterMs = firstReopenMs } = this.#reopening.get(id) ?? {}
    log.warn('rule.reopen_failed', `${message}; retry in ${afterMs / 1000} s`, { rule: id, code })
    const cancel = clock.after(afterMs, () => void this.#inTurn(id, () => this.#followClosing(id)))
    this.#reopening.set(id, { reason: code, afterMs: Math.min(2 * afterMs, maxReopenMs), cancel })
  }

  #cancelReopening(ruleId: string): void {
    void this.#reopening.get(ruleId)?.cancel()
    this.#reopening.delete(ruleId)
  }

  #log({ spec: { id: rule }, plan, engineId }: RunningRule): void {
    const { log } = this.#options
    if (engineId !== null) log.info('rule.opened', `listens on ${plan.protocol} ${portsOf(plan)}`, { rule })
    else
      log.info('rule.not_listening', `does not listen on ${plan.protocol} ${portsOf(plan)} for now`, { rule })
  }

  #inTurn<T>(ruleId: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(ruleId) ?? Promise.resolve()).then(work, work)
    const settled = (): void => {
      if (this.#turns.get(ruleId) === turn) this.#turns.delete(ruleId)
    }
    this.#turns.set(ruleId, turn)
    turn.then(settled, settled)
    return turn
  }
}

const pauseOf = ({ existing }: RuleSpec): Closing => {
  const closing = { reason: 'paused', closesPort: true } as const
  if (existing === 'cut') return { ...closing, mode: 'cut', drainMs: 0 }
  return { ...closing, mode: existing === 'drain' ? 'cut' : 'refuse' }
}

const filtersOf = ({ source, target, addressGuards, sourceLimits }: Plan): Filters => ({
  source,
  target,
  addressGuards,
  sourceLimits
})

/** Returns true if only filters and weights differ, which change without a new engine rule. */
function changesLive(before: RunningRule, after: RunningRule): boolean {
  const balance = after.plan.balance && {
    ...after.plan.balance,
    weights: (before.plan.balance ?? after.plan.balance).weights
  }
  const plan = { ...after.plan, ...filtersOf(before.plan), balance }
  return isDeepStrictEqual(plan, before.plan) && isDeepStrictEqual(after.uses, before.uses)
}

const portsOf = ({ from, to }: Plan): string => (from === to ? `${from}` : `${from}-${to}`)

/** Converts an EngineFault to a refusal that the server knows. */
function refusalOf(error: unknown, { from }: Pick<Plan, 'from'>): Refused {
  if (error instanceof Refused) return error // thrown by a plugin
  const { code, message } = error as EngineFault // `engine.open` rejects with nothing else
  const text = message + lowPortRemedy(error, from)
  return new Refused(code === 'EADDRINUSE' ? 'port_in_use' : 'activation_failed', text, { cause: error })
}
