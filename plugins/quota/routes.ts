import { Type } from 'typebox'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { type Quotas, resourceOf } from './quotas.ts'
import { ChangeBody, ClientParams, PairParams, QuotaRow, SetBody, UserParams } from './schema.ts'

interface Deps {
  readonly quotas: Quotas
}

const url = '/v1/users/:user_id/quotas/:client_id'

const ofUser = defineList({
  url: '/v1/users/:user_id/quotas',
  action: 'quota.list',
  access: 'user',
  summary: 'Lists the quotas of a user.',
  schema: () => ({ params: UserParams, row: QuotaRow }),
  run: ({ quotas }: Deps, { params, principal }) => quotas.listOfUser(params.user_id, principal)
})

const ofClient = defineList({
  url: '/v1/clients/:client_id/quotas',
  action: 'quota.list-client',
  access: 'superadmin',
  summary: 'Lists the quotas on a client.',
  schema: () => ({ params: ClientParams, row: QuotaRow }),
  run: ({ quotas }: Deps, { params }) => quotas.listOfClient(params.client_id)
})

const all = defineList({
  url: '/v1/quotas',
  action: 'quota.list-all',
  access: 'superadmin',
  summary: 'Lists all quotas, by client and user.',
  schema: () => ({ row: QuotaRow }),
  run: async ({ quotas }: Deps) => quotas.listAll()
})

const set = defineRoute({
  method: 'PUT',
  url,
  action: 'quota.set',
  access: 'superadmin',
  summary:
    "Sets what a user's rules may deliver on a client in a month; an existing quota keeps its usage and period.",
  schema: () => ({ params: PairParams, body: SetBody, reply: QuotaRow }),
  run: ({ quotas }: Deps, call) => quotas.set(call.params, call.body, call),
  replay: ({ quotas }, { params, principal }) => quotas.read(params, principal)
})

const change = defineRoute({
  method: 'PATCH',
  url,
  action: 'quota.update',
  access: 'superadmin',
  summary: 'Changes the size, or sets the usage of this period to 0.',
  schema: () => ({ params: PairParams, body: ChangeBody, reply: QuotaRow }),
  run: ({ quotas }: Deps, call) => quotas.patch(call.params, call.body, call),
  replay: ({ quotas }, { params, principal }) => quotas.read(params, principal)
})

const remove = defineRoute({
  method: 'DELETE',
  url,
  action: 'quota.delete',
  access: 'superadmin',
  status: 204,
  summary: 'Deletes a quota; connections that it paused continue.',
  schema: () => ({ params: PairParams, reply: Type.Void() }),
  run: ({ quotas }: Deps, call) => quotas.remove(call.params, call)
})

const status = defineRoute({
  method: 'GET',
  url: `${url}/status`,
  action: 'quota.status',
  access: 'user',
  summary: 'Returns the usage and size of this period.',
  schema: () => ({ params: PairParams, reply: QuotaRow }),
  record: resourceOf,
  run: ({ quotas }: Deps, { params, principal }) => quotas.read(params, principal)
})

export const routes = [ofUser, ofClient, all, set, change, remove, status]
