import { notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { defineList, listFilterSlots, listFilters, recordFields } from '../http/exports.ts'
import {
  cannotRemoveSelf,
  invalidDisplayName,
  invalidUserId,
  lastSuperadmin,
  managedByProvider,
  reservedUserId,
  userAlreadyExists
} from './codes.ts'
import { creationSlot, selfReadAction } from './exports.ts'
import { createBody, fieldsIn, Me, removedUser, UserParams, updateBody, userRow } from './schema.ts'
import { resourceOf, type UserDirectory } from './user-directory.ts'

export interface RouteDeps extends Kernel {
  readonly directory: UserDirectory
}

const me = defineRoute({
  method: 'GET',
  url: '/v1/users/me',
  action: selfReadAction,
  access: 'user',
  needsScope: false,
  summary: 'Returns the caller.',
  schema: () => ({ reply: Me, errors: [] }),
  run: ({ directory }: RouteDeps, { principal }) => directory.readSelf(principal)
})

const create = defineRoute({
  method: 'POST',
  url: '/v1/users',
  action: 'user.create',
  access: 'superadmin',
  status: 201,
  summary: 'Creates a user.',
  schema: filled => ({
    body: createBody(filled),
    reply: userRow(filled),
    errors: [
      invalidUserId,
      reservedUserId,
      invalidDisplayName,
      userAlreadyExists,
      ...recordFields.errors(fieldsIn(filled)),
      ...filled(creationSlot).flatMap(({ value, codes }) => value.errors ?? codes ?? [])
    ]
  }),
  run: ({ directory }: RouteDeps, call) => directory.create(call.body, call),
  replay: ({ directory }, { principal }, id) => directory.read(id, principal)
})

const list = defineList({
  url: '/v1/users',
  action: 'user.list',
  access: 'viewer',
  summary: 'Lists all users.',
  schema: filled => ({
    query: closed(listFilters.parameters(filled(listFilterSlots.user))),
    row: userRow(filled),
    errors: listFilters.errors(filled(listFilterSlots.user))
  }),
  run: async ({ directory }: RouteDeps, { query }) => directory.list(query)
})

const read = defineRoute({
  method: 'GET',
  url: '/v1/users/:user_id',
  action: 'user.read',
  access: 'user',
  summary: 'Returns one user.',
  description: 'With the role user you can only read yourself.',
  schema: filled => ({ params: UserParams, reply: userRow(filled), errors: [userNotFound, notOwner] }),
  record: ({ user_id: id }, filled) => resourceOf(id, filled),
  run: ({ directory }: RouteDeps, { params, principal }) => directory.read(params.user_id, principal)
})

const update = defineRoute({
  method: 'PATCH',
  url: '/v1/users/:user_id',
  action: 'user.update',
  access: 'superadmin',
  summary: 'Changes a user.',
  description:
    'Renames a user, changes the role, or disables or enables the user. Absent fields keep their values.',
  schema: filled => ({
    params: UserParams,
    body: updateBody(filled),
    reply: userRow(filled),
    errors: [
      userNotFound,
      invalidDisplayName,
      cannotRemoveSelf,
      lastSuperadmin,
      managedByProvider,
      ...recordFields.errors(fieldsIn(filled))
    ]
  }),
  run: ({ directory }: RouteDeps, call) => directory.update(call.params.user_id, call.body, call),
  replay: ({ directory }, { principal }, id) => directory.read(id, principal)
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/users/:user_id',
  action: 'user.delete',
  access: 'superadmin',
  summary: 'Deletes a user.',
  description: 'Also deletes everything that the user owns; the reply lists the ids.',
  schema: filled => ({
    params: UserParams,
    reply: removedUser(filled),
    errors: [userNotFound, cannotRemoveSelf, lastSuperadmin]
  }),
  run: ({ directory }: RouteDeps, call) => directory.remove(call.params.user_id, call)
})

export const routes = [me, create, list, read, update, remove]
