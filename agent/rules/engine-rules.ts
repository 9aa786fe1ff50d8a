// The rules in the engine. Changes of a server's rule open a new engine rule each: the newest takes callers, and live
// connections stay with the one that accepted them.
import type { Engine, EngineTarget, Filters } from '../engine/engine.ts'
import { isSameTarget } from '../engine/engine-target.ts'
import type { RuleTarget } from '../engine/open-connection.ts'
import type { Journal } from '../journal/journal.ts'
import type { MeterUse, RuleSpec } from '../plugin.ts'
import type { Meters } from './meters.ts'
import type { Plan } from './planner.ts'
import type { TargetShares } from './target-shares.ts'

interface Options {
  readonly engine: Pick<Engine, 'open' | 'close' | 'reset' | 'resetTargets' | 'setFilters'>
  readonly shares: Pick<TargetShares, 'engineShares'>
  readonly meters: Meters
  readonly journal: Pick<Journal, 'bind' | 'unbind'>
  /** Called when the last connection of a rule in the engine has ended; releases its meters. */
  readonly ended: (entry: EngineEntry) => void
}

export interface EngineEntry {
  spec: RuleSpec
  readonly plan: Plan
  readonly uses: readonly MeterUse[]
  readonly ended: PromiseWithResolvers<void>
}

export class EngineRules {
  readonly #options: Options
  readonly #entries = new Map<number, EngineEntry>() // listening or not, by engine id
  readonly #ids = new Map<string, Set<number>>() // engine ids by rule id
  #lastId = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** Opens a rule in the engine, replacing `replaces` if given. Returns its engine id. Rejects with an EngineFault. */
  async open(
    { spec, plan, uses }: Pick<EngineEntry, 'spec' | 'plan' | 'uses'>,
    replaces: number | null
  ): Promise<number> {
    const { engine, meters, journal, shares } = this.#options
    const id = ++this.#lastId
    this.#add(id, { spec, plan, uses, ended: Promise.withResolvers() })
    journal.bind(id, { id: spec.id, owner: spec.owner, targets: plan.targets })
    try {
      const rule = {
        ...plan,
        id,
        owner: spec.owner,
        meters: meters.join(uses),
        ...(plan.balance && { shares: shares.engineShares(spec) })
      }
      await engine.open(rule, replaces ?? undefined)
    } catch (error) {
      journal.unbind(id)
      this.#remove(id)
      meters.leave(uses)
      throw error
    }
    return id
  }

  /** Stops listening. Live connections are reset after `drainMs`; null: never. */
  close = (id: number, drainMs: number | null): Promise<void> => this.#options.engine.close(id, drainMs)

  find = (id: number): EngineEntry | undefined => this.#entries.get(id)

  matching = (matches: (spec: RuleSpec) => boolean): number[] =>
    [...this.#entries].flatMap(([id, { spec }]) => (matches(spec) ? [id] : []))

  /** Returns the planned targets, with the engine's numbers, also of rules that no longer listen. */
  targetsMatching = (matches: (target: EngineTarget) => boolean): RuleTarget[] =>
    [...this.#entries].flatMap(([rule, { plan }]) =>
      plan.targets.flatMap((one, target) => (matches(one) ? [{ rule, target }] : []))
    )

  idsOf = (ruleId: string): number[] => [...(this.#ids.get(ruleId) ?? [])]
  ruleIds = (): Iterable<string> => this.#ids.keys()

  /** Called for a new revision that does not need a new engine rule. */
  renew(id: number, spec: RuleSpec): void {
    const entry = this.#entries.get(id)
    if (entry) entry.spec = spec
  }

  /** Resolves when all connections of the rule have ended. */
  async allEnded(ruleId: string): Promise<void> {
    await Promise.all(this.idsOf(ruleId).map(id => this.#entries.get(id)?.ended.promise))
  }

  /** Sets the filters of the rule, also for connections of earlier engine rules. */
  setFilters(ruleId: string, filters: Filters): void {
    for (const id of this.idsOf(ruleId)) this.#options.engine.setFilters(id, filters)
  }

  /** Resets the rule's connections and flows, except those of the listen ports in `keep`. */
  reset(ruleId: string, keep: Pick<Plan, 'from' | 'to'> | null): void {
    for (const id of this.idsOf(ruleId)) this.#options.engine.reset(id, keep)
  }

  /** Resets the rule's connections to other targets than these. */
  resetOthers(ruleId: string, targets: readonly EngineTarget[]): void {
    for (const id of this.idsOf(ruleId)) {
      const gone = this.#entries
        .get(id)
        ?.plan.targets.flatMap((target, index) => (isAmong(target, targets) ? [] : [index]))
      if (gone && gone.length > 0) this.#options.engine.resetTargets(id, gone)
    }
  }

  /** Releases a rule after its last connection has ended: the engine has sent 'closed'. */
  ended(id: number): void {
    const entry = this.#remove(id)
    if (!entry) return
    this.#options.ended(entry)
    entry.ended.resolve()
  }

  #add(id: number, entry: EngineEntry): void {
    const ruleId = entry.spec.id
    this.#entries.set(id, entry)
    this.#ids.set(ruleId, (this.#ids.get(ruleId) ?? new Set()).add(id))
  }

  #remove(id: number): EngineEntry | undefined {
    const entry = this.#entries.get(id)
    this.#entries.delete(id)
    const ids = entry && this.#ids.get(entry.spec.id)
    ids?.delete(id)
    if (entry && ids?.size === 0) this.#ids.delete(entry.spec.id)
    return entry
  }
}

const isAmong = (target: EngineTarget, targets: readonly EngineTarget[]): boolean =>
  targets.some(other => isSameTarget(other, target))
