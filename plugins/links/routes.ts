import { Type } from 'typebox'
import { clientNotFound, rateLimited } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList, listFilterSlots, listFilters, recordFields } from '../http/exports.ts'
import { clientNotConnected } from '../rules/exports.ts'
import { invalidLink, linkNotFound } from './codes.ts'
import type { LinkKeys } from './link-keys.ts'
import { type Links, linkResource } from './links.ts'
import {
  ClientParams,
  fieldsIn,
  LinkParams,
  linkRow,
  listQuery,
  settingsBody,
  TestBody,
  TestResult
} from './schema.ts'
import type { LinkTests } from './state/link-tests.ts'

export interface RouteDeps {
  readonly links: Links
  readonly linkKeys: LinkKeys
  readonly linkTests: LinkTests
}

const url = '/v1/links'
const urlOfLink = `${url}/:link_id`

const list = defineList({
  url,
  action: 'link.list',
  access: 'user',
  summary: 'Lists links between clients.',
  description: 'Users see the links of their own rules, without hosts.',
  schema: filled => ({
    query: listQuery(filled),
    row: linkRow(filled),
    errors: listFilters.errors(filled(listFilterSlots.link))
  }),
  run: async ({ links }: RouteDeps, { query, principal }) => links.list(query, principal)
})

const read = defineRoute({
  method: 'GET',
  url: urlOfLink,
  action: 'link.read',
  access: 'user',
  summary: 'Returns one link.',
  schema: filled => ({ params: LinkParams, reply: linkRow(filled), errors: [linkNotFound] }),
  record: ({ link_id: id }, filled) => linkResource(id, filled),
  run: ({ links }: RouteDeps, { params, principal }) => links.read(params.link_id, principal)
})

const change = defineRoute({
  method: 'PATCH',
  url: urlOfLink,
  action: 'link.change',
  access: 'operator',
  summary: 'Changes the settings of a link.',
  description:
    'Absent settings stay. A link that no rule needs is removed once all of its settings have their defaults.',
  schema: filled => ({
    params: LinkParams,
    body: settingsBody(filled),
    reply: linkRow(filled),
    errors: [linkNotFound, invalidLink, ...recordFields.errors(fieldsIn(filled))]
  }),
  run: ({ links }: RouteDeps, call) => links.change(call.params.link_id, call.body, call),
  replay: ({ links }, { principal }, id) => links.read(id, principal)
})

const test = defineRoute({
  method: 'POST',
  url: `${urlOfLink}/test`,
  action: 'link.test',
  access: 'operator',
  summary: 'Measures a link.',
  description:
    'The near client sends bytes through the link in both directions. One test of a link runs at a time.',
  schema: () => ({
    params: LinkParams,
    body: TestBody,
    reply: TestResult,
    errors: [linkNotFound, clientNotConnected, rateLimited]
  }),
  run: ({ linkTests }: RouteDeps, call) => linkTests.run(call.params.link_id, call.body, call)
})

const rotateKey = defineRoute({
  method: 'POST',
  url: '/v1/clients/:client_id/link-key/rotate',
  action: 'link.rotate-key',
  access: 'operator',
  status: 204,
  summary: 'Makes the agent of a client generate a new link key.',
  description:
    'The agent switches to the new key when all connected neighbors know it, at most 24 hours later. Live connections continue.',
  schema: () => ({ params: ClientParams, reply: Type.Void(), errors: [clientNotFound, clientNotConnected] }),
  run: ({ linkKeys }: RouteDeps, call) => linkKeys.rotate(call.params.client_id, call)
})

export const routes = [list, read, change, test, rotateKey]
