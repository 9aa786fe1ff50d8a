// Open connections and flows, with the server's rules and the keys of meters.
import type { Engine, EngineTarget } from '../engine/engine.ts'
import type { RuleTarget } from '../engine/open-connection.ts'
import type { AgentConnections, AgentMeters, ConnectionFilter, RuleSpec } from '../plugin.ts'
import type { Plan } from './planner.ts'

interface Options {
  readonly engine: Pick<Engine, 'connections' | 'endConnections'>
  readonly rules: {
    engineIds(matches: (spec: RuleSpec) => boolean): number[]
    targetsMatching(matches: (target: EngineTarget) => boolean): RuleTarget[]
    entry(engineId: number): { readonly spec: RuleSpec; readonly plan: Pick<Plan, 'targets'> } | undefined
  }
  readonly meters: Pick<AgentMeters, 'keyOf'>
}

export function openConnections({ engine, rules, meters }: Options): AgentConnections {
  const selectionOf = ({ rule, ids, sources, target, planned }: ConnectionFilter) => ({
    ids,
    sources,
    target,
    rules: rule === null ? null : rules.engineIds(rule),
    ruleTargets: planned == null ? null : rules.targetsMatching(planned)
  })

  return {
    list({ sort, after, limit, ...filter }) {
      const { rows, ...sums } = engine.connections({ ...selectionOf(filter), sort, after, limit })
      return {
        ...sums,
        rows: rows.flatMap(row => {
          const { spec: rule, plan } = rules.entry(row.ruleId) ?? {}
          if (!rule || !plan) return []
          const heldBy = row.heldBy === null ? null : (meters.keyOf(row.heldBy) ?? null)
          const own = row.divert === null && row.target ? plan.targets[row.target.index] : undefined
          return [{ ...row, rule, heldBy, planned: own ?? null }]
        })
      }
    },
    end: filter => engine.endConnections(selectionOf(filter))
  }
}
