import { clientNotFound, limitReached, userNotFound } from '../../kernel/base/errors.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { clientNameAmbiguous } from '../clients/exports.ts'
import { type GrantsService, grantAlreadyExists, grantNotFound } from './grants.ts'
import {
  CreateBody,
  emptyProtocolSet,
  Filter,
  GrantParams,
  GrantRow,
  invalidPortRange,
  Removed
} from './schema.ts'
import { grantTarget } from './targets.ts'

interface Deps {
  readonly grants: GrantsService
}

const createErrors = [
  ...[userNotFound, clientNotFound, clientNameAmbiguous, limitReached, grantAlreadyExists],
  ...[invalidPortRange, emptyProtocolSet, grantTarget]
]

const create = defineRoute({
  method: 'POST',
  url: '/v1/grants',
  action: 'grant.create',
  access: 'superadmin',
  status: 201,
  summary: 'Lets a user create rules on a client, or on all.',
  schema: () => ({ body: CreateBody, reply: GrantRow, errors: createErrors }),
  run: ({ grants }: Deps, call) => grants.create(call.body, call),
  replay: ({ grants }, _, id) => grants.read(id)
})

const list = defineList({
  url: '/v1/grants',
  action: 'grant.list',
  access: 'superadmin',
  summary: 'Lists grants.',
  schema: () => ({ query: Filter, row: GrantRow, errors: [] }),
  run: async ({ grants }: Deps, { query: { user_id: userId } }) =>
    grants.list(userId === undefined ? {} : { userId })
})

const own = defineList({
  url: '/v1/users/me/grants',
  action: 'grant.list-own',
  access: 'user',
  summary: 'Lists your own grants.',
  schema: () => ({ row: GrantRow, errors: [] }),
  run: async ({ grants }: Deps, { principal: { userId } }) => grants.list({ userId })
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/grants/:id',
  action: 'grant.delete',
  access: 'superadmin',
  summary: 'Deletes a grant.',
  description: 'Rules that no other grant allows go with it; the reply lists them.',
  schema: () => ({ params: GrantParams, reply: Removed, errors: [grantNotFound] }),
  run: ({ grants }: Deps, call) => grants.remove(call.params.id, call)
})

export const routes = [create, list, own, remove]
