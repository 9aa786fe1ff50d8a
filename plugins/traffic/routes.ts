import { Type } from 'typebox'
import { clientNotFound, invalidTimeRange, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { ClientId, UserId } from '../../kernel/http/schema.ts'
import { ruleNotFound } from '../rules/exports.ts'
import {
  ClientQuery,
  GlobalQuery,
  Traffic as Reply,
  RuleId,
  RuleQuery,
  TopQuery,
  TopRow,
  UserQuery
} from './schema.ts'
import type { Traffic } from './traffic.ts'
import { topCsv, trafficCsv } from './traffic-csv.ts'
import { outOfRetention } from './window.ts'

interface Deps {
  readonly traffic: Traffic
}

const windowErrors = [invalidTimeRange, outOfRetention]

const ofUser = defineRoute({
  method: 'GET',
  url: '/v1/users/:user_id/traffic',
  action: 'traffic.of-user',
  access: 'user',
  summary: 'Returns the traffic of a user by minute or hour.',
  csv: trafficCsv,
  schema: () => ({
    params: Type.Object({ user_id: UserId }),
    query: UserQuery,
    reply: Reply,
    errors: [...windowErrors, notOwner, userNotFound, clientNotFound]
  }),
  run: async ({ traffic }: Deps, { params, query, principal }) =>
    traffic.ofUser(params.user_id, query, principal)
})

const ofClient = defineRoute({
  method: 'GET',
  url: '/v1/clients/:client_id/traffic',
  action: 'traffic.of-client',
  access: 'viewer',
  summary: 'Returns the traffic of a client by minute or hour.',
  csv: trafficCsv,
  schema: () => ({
    params: Type.Object({ client_id: ClientId }),
    query: ClientQuery,
    reply: Reply,
    errors: [...windowErrors, clientNotFound, userNotFound]
  }),
  run: async ({ traffic }: Deps, { params, query }) => traffic.ofClient(params.client_id, query)
})

const ofAll = defineRoute({
  method: 'GET',
  url: '/v1/traffic/global',
  action: 'traffic.of-all',
  access: 'viewer',
  summary: 'Returns the traffic of all rules by minute or hour.',
  csv: trafficCsv,
  schema: () => ({ query: GlobalQuery, reply: Reply, errors: windowErrors }),
  run: ({ traffic }: Deps, { query }) => traffic.ofAll(query)
})

const ofRule = defineRoute({
  method: 'GET',
  url: '/v1/rules/:rule_id/traffic',
  action: 'traffic.of-rule',
  access: 'user',
  summary: 'Returns the traffic of a rule by minute or hour.',
  description: 'Answers for 7 days after the rule was deleted, for its last owner and callers who see all.',
  csv: trafficCsv,
  schema: () => ({
    params: Type.Object({ rule_id: RuleId }),
    query: RuleQuery,
    reply: Reply,
    errors: [...windowErrors, ruleNotFound, notOwner]
  }),
  run: ({ traffic }: Deps, { params, query, principal }) => traffic.ofRule(params.rule_id, query, principal)
})

const top = defineRoute({
  method: 'GET',
  url: '/v1/traffic/top',
  action: 'traffic.top',
  access: 'user',
  summary: 'Ranks rules, clients, owners or targets by their bytes.',
  description:
    'The largest sum first. Superadmins see everything, others their own. Targets are counted by whole hours.',
  csv: topCsv,
  schema: () => ({ query: TopQuery, reply: Type.Array(TopRow), errors: windowErrors }),
  run: ({ traffic }: Deps, { query, principal }) => traffic.top(query, principal)
})

export const routes = [ofUser, ofClient, ofRule, ofAll, top]
