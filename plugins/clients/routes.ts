import { Type } from 'typebox'
import { defineList } from '../../kernel/http/listing.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Clients } from './clients.ts'
import { addressOf, nameOf } from './label.ts'
import { ClientRow } from './row.ts'

interface Deps {
  readonly clients: Clients
}

const params = Type.Object({ client_id: Type.String() })
const closed = { additionalProperties: false }
const client = (id: string) => ({ kind: 'client', id })

const list = defineList({
  url: '/v1/clients',
  action: 'client.list',
  access: 'user',
  summary: 'Clients that the caller may see.',
  schema: () => ({ row: ClientRow }),
  run: async ({ clients }: Deps, { principal }) => clients.list(principal)
})

const read = defineRoute({
  method: 'GET',
  url: '/v1/clients/:client_id',
  action: 'client.read',
  access: 'user',
  status: 200,
  summary: 'One client.',
  schema: () => ({ params, reply: ClientRow }),
  run: ({ clients }: Deps, call) => clients.read(call.params.client_id, call.principal)
})

const setAddress = defineRoute({
  method: 'PUT',
  url: '/v1/clients/:client_id',
  action: 'client.update',
  access: 'superadmin',
  status: 200,
  summary: 'Sets the public address; the other fields of a row may be sent back and are ignored.',
  schema: () => ({
    params,
    body: Type.Object(
      { ...Type.Partial(ClientRow).properties, address: ClientRow.properties.address },
      closed
    ),
    reply: ClientRow
  }),
  run: ({ clients }: Deps, { body, change, params: { client_id: id } }) => {
    const address = addressOf(body.address)
    return change(client(id), em => clients.relabel(id, { address }, em))
  },
  again: ({ clients }, { principal }, id) => clients.read(id, principal)
})

const rename = defineRoute({
  method: 'PATCH',
  url: '/v1/clients/:client_id/name',
  action: 'client.rename',
  access: 'superadmin',
  status: 200,
  summary: 'Renames a client; its id, its rules and its stream stay as they are.',
  schema: () => ({
    params,
    body: Type.Object({ client_name: Type.String() }, closed),
    reply: ClientRow
  }),
  run: ({ clients }: Deps, { body, change, params: { client_id: id } }) => {
    const name = nameOf(body.client_name)
    return change(client(id), em => clients.relabel(id, { name }, em))
  },
  again: ({ clients }, { principal }, id) => clients.read(id, principal)
})

const revoke = defineRoute({
  method: 'POST',
  url: '/v1/clients/:client_id/revoke',
  action: 'client.revoke',
  access: 'superadmin',
  status: 204,
  summary: "Ends the client's token and its stream; a re-enrollment lifts it.",
  schema: () => ({ params, reply: Type.Void() }),
  run: async ({ clients }: Deps, { change, params: { client_id: id } }) => {
    const spent = await change(client(id), em => clients.revoke(id, em))
    clients.cut(id, spent)
  }
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/clients/:client_id',
  action: 'client.delete',
  access: 'superadmin',
  status: 204,
  summary: 'Deletes a revoked client, and what belongs to it.',
  schema: () => ({ params, reply: Type.Void() }),
  run: ({ clients }: Deps, { change, params: { client_id: id } }) =>
    change(client(id), em => clients.remove(id, em))
})

export const routes = [list, read, setAddress, rename, revoke, remove]
