import { Type } from 'typebox'
import { limitReached } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList } from '../http/exports.ts'
import { invalidSources } from './fields.ts'
import { type Lists, listInUse, listNotFound, listResource } from './lists.ts'
import { ListBody, ListParams, ListRecord, ListRow } from './schema.ts'

interface Deps {
  readonly lists: Lists
}

const url = '/v1/source-lists/:list_name'

const list = defineList({
  url: '/v1/source-lists',
  action: 'source_list.list',
  access: 'viewer',
  summary: 'Lists the lists of sources that rules may name.',
  schema: () => ({ row: ListRow, errors: [] }),
  run: ({ lists }: Deps) => lists.list()
})

const read = defineRoute({
  method: 'GET',
  url,
  action: 'source_list.read',
  access: 'viewer',
  summary: 'Returns a list of sources with its entries.',
  schema: () => ({ params: ListParams, reply: ListRecord, errors: [listNotFound] }),
  record: ({ list_name }) => listResource(list_name),
  run: ({ lists }: Deps, { params }) => lists.read(params.list_name)
})

const set = defineRoute({
  method: 'PUT',
  url,
  action: 'source_list.set',
  access: 'operator',
  bodyBytes: 2 ** 20,
  summary: 'Creates or replaces a list of sources.',
  description:
    'Rules that name it apply the list to new callers, and end connections that are no longer allowed, as soon as their clients have it.',
  schema: () => ({
    params: ListParams,
    body: ListBody,
    reply: ListRecord,
    errors: [invalidSources, limitReached]
  }),
  run: ({ lists }: Deps, call) => lists.set(call.params.list_name, call.body, call),
  replay: ({ lists }, { params }) => lists.read(params.list_name)
})

const remove = defineRoute({
  method: 'DELETE',
  url,
  action: 'source_list.delete',
  access: 'operator',
  status: 204,
  summary: 'Deletes a list of sources that no rule names.',
  schema: () => ({ params: ListParams, reply: Type.Void(), errors: [listNotFound, listInUse] }),
  run: ({ lists }: Deps, call) => lists.remove(call.params.list_name, call)
})

export const routes = [list, read, set, remove]
