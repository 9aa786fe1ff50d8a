import { defineList } from '../../kernel/http/listing.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { selfRead } from './exports.ts'
import type { Roster } from './roster.ts'
import { createBody, Me, removedUser, UpdateBody, UserParams, userRow } from './schema.ts'
import type { Users } from './users.ts'

interface Deps {
  readonly users: Users
  readonly roster: Roster
}

const me = defineRoute({
  method: 'GET',
  url: '/v1/users/me',
  action: selfRead,
  access: 'user',
  status: 200,
  summary: 'Who is calling',
  schema: () => ({ reply: Me }),
  run: ({ users }: Deps, { principal }) => users.me(principal)
})

const create = defineRoute({
  method: 'POST',
  url: '/v1/users',
  action: 'user.create',
  access: 'superadmin',
  status: 201,
  summary: 'Make a user',
  schema: filled => ({ body: createBody(filled), reply: userRow(filled) }),
  run: ({ roster }: Deps, call) => roster.create(call.body, call),
  again: ({ roster }, { principal }, id) => roster.read(id, principal)
})

const list = defineList({
  url: '/v1/users',
  action: 'user.list',
  access: 'superadmin',
  summary: 'All users',
  schema: filled => ({ row: userRow(filled) }),
  run: async ({ roster }: Deps) => roster.list()
})

const read = defineRoute({
  method: 'GET',
  url: '/v1/users/:id',
  action: 'user.read',
  access: 'user',
  status: 200,
  summary: 'One user; without the superadmin role only yourself',
  schema: filled => ({ params: UserParams, reply: userRow(filled) }),
  run: ({ roster }: Deps, { params, principal }) => roster.read(params.id, principal)
})

const update = defineRoute({
  method: 'PATCH',
  url: '/v1/users/:id',
  action: 'user.update',
  access: 'superadmin',
  status: 200,
  summary: 'Rename a user, change the role, disable or enable',
  schema: filled => ({ params: UserParams, body: UpdateBody, reply: userRow(filled) }),
  run: ({ roster }: Deps, call) => roster.update(call.params.id, call.body, call),
  again: ({ roster }, { principal }, id) => roster.read(id, principal)
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/users/:id',
  action: 'user.delete',
  access: 'superadmin',
  status: 200,
  summary: 'Delete a user with all that belongs to it',
  schema: filled => ({ params: UserParams, reply: removedUser(filled) }),
  run: ({ roster }: Deps, call) => roster.remove(call.params.id, call)
})

export const routes = [me, create, list, read, update, remove]
