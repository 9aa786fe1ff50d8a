import { clientNotFound, limitReached, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { clientNameAmbiguous } from '../clients/exports.ts'
import { defineList, listFilterSlots, listFilters, recordFields } from '../http/exports.ts'
import { managedByProvider } from '../users/exports.ts'
import { type GrantsService, grantAlreadyExists, grantNotFound, resourceOf } from './grants.ts'
import {
  createBody,
  emptyProtocolSet,
  fieldsIn,
  filterParameters,
  GrantParams,
  grantPorts,
  grantRow,
  invalidPortRange,
  listQuery,
  RemovedGrant,
  updateBody
} from './schema.ts'
import { invalidGrantTarget } from './targets.ts'

interface Deps {
  readonly grants: GrantsService
}

const bodyCodes = [invalidPortRange, grantPorts, emptyProtocolSet, invalidGrantTarget]

export const codes = [grantNotFound, grantAlreadyExists, ...bodyCodes]

/** Errors of a create that depend on its body alone. */
export const bodyErrors = (filled: SlotReader) => [...recordFields.errors(fieldsIn(filled)), ...bodyCodes]

const createErrors = (filled: SlotReader) => [
  ...bodyErrors(filled),
  userNotFound,
  clientNotFound,
  clientNameAmbiguous,
  limitReached,
  grantAlreadyExists
]

const filterErrors = (filled: SlotReader) => listFilters.errors(filled(listFilterSlots.grant))

const create = defineRoute({
  method: 'POST',
  url: '/v1/grants',
  action: 'grant.create',
  access: 'superadmin',
  status: 201,
  summary: 'Lets a user create rules on one client or on all clients, or use them as exits.',
  schema: filled => ({ body: createBody(filled), reply: grantRow(filled), errors: createErrors(filled) }),
  run: ({ grants }: Deps, call) => grants.create(call.body, call),
  replay: ({ grants }, _, id) => grants.read(id)
})

const list = defineList({
  url: '/v1/grants',
  action: 'grant.list',
  access: 'viewer',
  summary: 'Lists grants.',
  schema: filled => ({ query: listQuery(filled), row: grantRow(filled), errors: filterErrors(filled) }),
  run: async ({ grants }: Deps, { query: { user_id: userId, ...more } }) =>
    grants.list(userId === undefined ? {} : { userId }, more)
})

const own = defineList({
  url: '/v1/users/me/grants',
  action: 'grant.list-own',
  access: 'user',
  summary: 'Lists your own grants.',
  schema: filled => ({
    query: closed(filterParameters(filled)),
    row: grantRow(filled),
    errors: filterErrors(filled)
  }),
  run: async ({ grants }: Deps, { query, principal: { userId } }) => grants.list({ userId }, query)
})

const show = defineRoute({
  method: 'GET',
  url: '/v1/grants/:grant_id',
  action: 'grant.read',
  access: 'viewer',
  summary: 'Returns one grant.',
  schema: filled => ({ params: GrantParams, reply: grantRow(filled), errors: [grantNotFound] }),
  record: ({ grant_id: id }, filled) => resourceOf(id, filled),
  run: ({ grants }: Deps, { params }) => grants.read(params.grant_id)
})

const update = defineRoute({
  method: 'PATCH',
  url: '/v1/grants/:grant_id',
  action: 'grant.change',
  access: 'superadmin',
  summary: 'Changes the note of a grant.',
  description:
    'Also changes fields of plugins, such as labels. Absent fields keep their values; the permissions cannot change.',
  schema: filled => ({
    params: GrantParams,
    body: updateBody(filled),
    reply: grantRow(filled),
    errors: [grantNotFound, grantAlreadyExists, managedByProvider, ...recordFields.errors(fieldsIn(filled))]
  }),
  run: ({ grants }: Deps, call) => grants.update(call.params.grant_id, call.body, call),
  replay: ({ grants }, _, id) => grants.read(id)
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/grants/:grant_id',
  action: 'grant.delete',
  access: 'superadmin',
  summary: 'Deletes a grant.',
  description: 'Also deletes the rules that no other grant allows; the reply lists them.',
  schema: () => ({ params: GrantParams, reply: RemovedGrant, errors: [grantNotFound, managedByProvider] }),
  run: ({ grants }: Deps, call) => grants.remove(call.params.grant_id, call)
})

export const routes = [create, list, own, show, update, remove]
