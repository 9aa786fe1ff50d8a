import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import { RuleStats, Summary } from './schema.ts'
import type { Stats } from './stats.ts'

interface Deps {
  readonly stats: Stats
}

const ofRule = defineRoute({
  method: 'GET',
  url: '/v1/rules/:rule_id/stats',
  action: 'rule.stats',
  access: 'user',
  status: 200,
  summary: 'What a rule has forwarded so far.',
  schema: () => ({ params: Type.Object({ rule_id: Type.String() }), reply: RuleStats }),
  run: ({ stats }: Deps, { params, principal }) => stats.ofRule(params.rule_id, principal)
})

const summary = defineRoute({
  method: 'GET',
  url: '/v1/stats/summary',
  action: 'stats.summary',
  access: 'user',
  status: 200,
  summary: 'Counts and sums of all that the caller may see.',
  schema: () => ({ reply: Summary }),
  run: ({ stats }: Deps, { principal }) => stats.summary(principal)
})

export const routes = [ofRule, summary]
