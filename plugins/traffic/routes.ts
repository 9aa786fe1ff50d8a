import { Type } from 'typebox'
import { clientNotFound, invalidTimeRange, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { ClientId, UserId } from '../../kernel/http/schema.ts'
import { ClientQuery, GlobalQuery, Traffic as Reply, UserQuery } from './schema.ts'
import type { Traffic } from './traffic.ts'
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
  access: 'superadmin',
  summary: 'Returns the traffic of a client by minute or hour.',
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
  access: 'superadmin',
  summary: 'Returns the traffic of all rules by minute or hour.',
  schema: () => ({ query: GlobalQuery, reply: Reply, errors: windowErrors }),
  run: ({ traffic }: Deps, { query }) => traffic.ofAll(query)
})

export const routes = [ofUser, ofClient, ofAll]
