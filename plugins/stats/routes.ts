import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import { RuleStats } from './schema.ts'
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

export const routes = [ofRule]
