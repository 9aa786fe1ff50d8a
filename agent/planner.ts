import type { Codec } from '../kernel/wire/codec.ts'
import { Refused } from '../kernel/wire/message.ts'
import type { EngineRule } from './engine.ts'
import type { Guardrails } from './guardrails.ts'
import type { AgentField, AgentPlugin, Draft, RuleSpec } from './plugin.ts'

/** What the engine is told of a rule; the agent numbers it. */
export type Plan = Omit<EngineRule, 'id'>

/** Every field plans its part. A key that none plans is refused: without it the rule could match all. */
export type Planner = (spec: RuleSpec, idleMs: number) => Plan

interface Options {
  readonly plugins: readonly AgentPlugin[]
  readonly codec: Codec
  readonly guardrails: Guardrails
}

export function openPlanner({ plugins, codec, guardrails }: Options): Planner {
  const fields = new Map(
    plugins.flatMap(({ fields = [] }) => fields.map(field => [field.key, field] as const))
  )

  function find(key: string): AgentField {
    const field = fields.get(key)
    if (!field) throw new Refused('field_unknown', `this agent cannot plan ${key}`)
    return field
  }

  return ({ protocol, from, to, targets, preferIpv6, fields: values }, idleMs) => {
    const draft: Draft = {
      id: 0,
      protocol,
      from,
      to,
      targets,
      preferIpv6,
      idleMs,
      source: null,
      target: []
    }
    for (const [key, bytes] of Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1))) {
      const field = find(key)
      field.plan?.(codec.decode(field.message, bytes), draft)
    }
    guardrails.admit(draft)
    const { id: _, ...plan } = draft
    return { ...plan, target: [guardrails.filter, ...draft.target] }
  }
}
