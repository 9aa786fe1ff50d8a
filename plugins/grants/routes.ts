import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Grants } from './grants.ts'
import { CreateBody, Filter, GrantParams, GrantRow, Removed } from './schema.ts'

interface Deps {
  readonly grants: Grants
}

const create = defineRoute({
  method: 'POST',
  url: '/v1/grants',
  action: 'grant.create',
  access: 'superadmin',
  status: 201,
  summary: 'Lets a user create rules on a client, or on all.',
  schema: () => ({ body: CreateBody, reply: GrantRow }),
  run: ({ grants }: Deps, call) => grants.create(call.body, call),
  replay: ({ grants }, _, id) => grants.read(id)
})

const list = defineList({
  url: '/v1/grants',
  action: 'grant.list',
  access: 'superadmin',
  summary: 'All grants.',
  schema: () => ({ query: Filter, row: GrantRow }),
  run: async ({ grants }: Deps, { query: { user_id: userId } }) =>
    grants.list(userId === undefined ? {} : { userId })
})

const own = defineList({
  url: '/v1/users/me/grants',
  action: 'grant.list-own',
  access: 'user',
  summary: "The caller's grants.",
  schema: () => ({ row: GrantRow }),
  run: async ({ grants }: Deps, { principal: { userId } }) => grants.list({ userId })
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/grants/:id',
  action: 'grant.delete',
  access: 'superadmin',
  summary: 'Deletes a grant, and the rules that no other grant allows.',
  schema: () => ({ params: GrantParams, reply: Removed }),
  run: ({ grants }: Deps, call) => grants.remove(call.params.id, call)
})

export const routes = [create, list, own, remove]
