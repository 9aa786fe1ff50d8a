import { Type } from 'typebox'
import { clientNotFound, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList } from '../http/exports.ts'
import { quotaNotFound } from './quota-reader.ts'
import { type Quotas, quotaResource } from './quotas.ts'
import { unsupported as quotaUnsupported } from './requirement.ts'
import {
  ChangeBody,
  ClientParams,
  invalidBillingAnchor,
  PairParams,
  QuotaRow,
  SetBody,
  UserParams
} from './schema.ts'

interface Deps {
  readonly quotas: Quotas
}

const url = '/v1/users/:user_id/quotas/:client_id'

const userQuotas = defineList({
  url: '/v1/users/:user_id/quotas',
  action: 'quota.list',
  access: 'user',
  summary: 'Lists the quotas of a user.',
  schema: () => ({ params: UserParams, row: QuotaRow, errors: [notOwner, userNotFound] }),
  run: ({ quotas }: Deps, { params, principal }) => quotas.listOfUser(params.user_id, principal)
})

const clientQuotas = defineList({
  url: '/v1/clients/:client_id/quotas',
  action: 'quota.list-client',
  access: 'viewer',
  summary: 'Lists the quotas on a client.',
  schema: () => ({ params: ClientParams, row: QuotaRow, errors: [clientNotFound] }),
  run: ({ quotas }: Deps, { params }) => quotas.listOfClient(params.client_id)
})

const all = defineList({
  url: '/v1/quotas',
  action: 'quota.list-all',
  access: 'viewer',
  summary: 'Lists all quotas, by client and user.',
  schema: () => ({ row: QuotaRow, errors: [] }),
  run: async ({ quotas }: Deps) => quotas.listAll()
})

const set = defineRoute({
  method: 'PUT',
  url,
  action: 'quota.set',
  access: 'operator',
  summary: 'Sets a quota.',
  description:
    "Limits the bytes that a user's rules may deliver on a client in a month. An existing quota keeps its usage and period.",
  schema: () => ({
    params: PairParams,
    body: SetBody,
    reply: QuotaRow,
    errors: [userNotFound, clientNotFound, invalidBillingAnchor, quotaUnsupported]
  }),
  run: ({ quotas }: Deps, call) => quotas.set(call.params, call.body, call),
  replay: ({ quotas }, { params, principal }) => quotas.read(params, principal)
})

const change = defineRoute({
  method: 'PATCH',
  url,
  action: 'quota.update',
  access: 'operator',
  summary: 'Changes a quota.',
  description: 'Changes the size, or sets the usage of this period to 0.',
  schema: () => ({
    params: PairParams,
    body: ChangeBody,
    reply: QuotaRow,
    errors: [userNotFound, clientNotFound, quotaNotFound, quotaUnsupported]
  }),
  run: ({ quotas }: Deps, call) => quotas.patch(call.params, call.body, call),
  replay: ({ quotas }, { params, principal }) => quotas.read(params, principal)
})

const remove = defineRoute({
  method: 'DELETE',
  url,
  action: 'quota.delete',
  access: 'operator',
  status: 204,
  summary: 'Deletes a quota.',
  description: 'Connections that it paused continue.',
  schema: () => ({
    params: PairParams,
    reply: Type.Void(),
    errors: [userNotFound, clientNotFound, quotaNotFound]
  }),
  run: ({ quotas }: Deps, call) => quotas.remove(call.params, call)
})

const status = defineRoute({
  method: 'GET',
  url: `${url}/status`,
  action: 'quota.status',
  access: 'user',
  summary: 'Returns the usage and size of this period.',
  schema: () => ({
    params: PairParams,
    reply: QuotaRow,
    errors: [notOwner, userNotFound, clientNotFound, quotaNotFound]
  }),
  record: quotaResource,
  run: ({ quotas }: Deps, { params, principal }) => quotas.read(params, principal)
})

export const routes = [userQuotas, clientQuotas, all, set, change, remove, status]
