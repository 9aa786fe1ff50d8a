import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import { ClientQuery, GlobalQuery, Traffic as Reply, UserQuery } from './schema.ts'
import type { Traffic } from './traffic.ts'

interface Deps {
  readonly traffic: Traffic
}

const ofUser = defineRoute({
  method: 'GET',
  url: '/v1/users/:id/traffic',
  action: 'traffic.of-user',
  access: 'user',
  summary: 'Returns what the rules of a user have forwarded, by minute or hour.',
  schema: () => ({ params: Type.Object({ id: Type.String() }), query: UserQuery, reply: Reply }),
  run: async ({ traffic }: Deps, { params, query, principal }) => traffic.ofUser(params.id, query, principal)
})

const ofClient = defineRoute({
  method: 'GET',
  url: '/v1/clients/:client_id/traffic',
  action: 'traffic.of-client',
  access: 'superadmin',
  summary: 'Returns what a client has forwarded, by minute or hour.',
  schema: () => ({ params: Type.Object({ client_id: Type.String() }), query: ClientQuery, reply: Reply }),
  run: async ({ traffic }: Deps, { params, query }) => traffic.ofClient(params.client_id, query)
})

const ofAll = defineRoute({
  method: 'GET',
  url: '/v1/traffic/global',
  action: 'traffic.of-all',
  access: 'superadmin',
  summary: 'Returns what all rules have forwarded, by minute or hour.',
  schema: () => ({ query: GlobalQuery, reply: Reply }),
  run: ({ traffic }: Deps, { query }) => traffic.ofAll(query)
})

export const routes = [ofUser, ofClient, ofAll]
