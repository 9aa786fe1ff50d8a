import { Type } from 'typebox'
import { notOwner } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineStream } from '../http/exports.ts'
import { ruleNotFound } from '../rules/exports.ts'
import { Flags, RuleId, RuleStats, Summary } from './schema.ts'
import type { Stats } from './stats.ts'

interface Deps {
  readonly stats: Stats
}

const RuleParams = Type.Object({ rule_id: RuleId })
const errors = [ruleNotFound, notOwner]

const ofRule = defineRoute({
  method: 'GET',
  url: '/v1/rules/:rule_id/stats',
  action: 'rule.stats',
  access: 'user',
  summary: 'Returns the traffic of a rule so far.',
  schema: () => ({ params: RuleParams, query: Flags, reply: RuleStats, errors }),
  run: ({ stats }: Deps, { params, query, principal }) => stats.ofRule(params.rule_id, query, principal)
})

const stream = defineStream({
  url: '/v1/rules/:rule_id/stats/stream',
  action: 'rule.stats-stream',
  access: 'user',
  summary: 'Streams the traffic of a rule.',
  description: 'Sends `stats` at once and every 5 s, and `removed` when the rule is deleted.',
  schema: () => ({ params: RuleParams, query: Flags, event: Type.Union([RuleStats, RuleParams]), errors }),
  run: ({ stats }: Deps, call) => stats.watchRule(call.params.rule_id, call.query, call)
})

const summary = defineRoute({
  method: 'GET',
  url: '/v1/stats/summary',
  action: 'stats.summary',
  access: 'user',
  summary: 'Returns counts and sums over everything that the user may see.',
  schema: () => ({ reply: Summary, errors: [] }),
  run: ({ stats }: Deps, { principal }) => stats.summary(principal)
})

export const routes = [ofRule, stream, summary]
