// Open connections and flows, with the server's rules and the keys of meters.
import type { Engine } from '../engine/engine.ts'
import type { AgentConnections, AgentMeters, ConnectionFilter, RuleSpec } from '../plugin.ts'

interface Options {
  readonly engine: Pick<Engine, 'connections' | 'endConnections'>
  readonly rules: {
    engineIds(matches: (spec: RuleSpec) => boolean): number[]
    find(engineId: number): RuleSpec | undefined
  }
  readonly meters: Pick<AgentMeters, 'keyOf'>
}

export function openConnections({ engine, rules, meters }: Options): AgentConnections {
  const selectionOf = ({ rule, ids, sources, target }: ConnectionFilter) => ({
    ids,
    sources,
    target,
    rules: rule === null ? null : rules.engineIds(rule)
  })

  return {
    list({ sort, after, limit, ...filter }) {
      const { rows, ...sums } = engine.connections({ ...selectionOf(filter), sort, after, limit })
      return {
        ...sums,
        rows: rows.flatMap(row => {
          const rule = rules.find(row.ruleId)
          const heldBy = row.heldBy === null ? null : (meters.keyOf(row.heldBy) ?? null)
          return rule ? [{ ...row, rule, heldBy }] : []
        })
      }
    },
    end: filter => engine.endConnections(selectionOf(filter))
  }
}
