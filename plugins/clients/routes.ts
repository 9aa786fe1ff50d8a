import type { EntityManager } from '@mikro-orm/sql'
import { type Static, type TObject, Type } from 'typebox'
import { clientNotFound } from '../../kernel/base/errors.ts'
import { defineRoute, type FieldChange, type Resource } from '../../kernel/http/route.ts'
import { ClientId, closed } from '../../kernel/http/schema.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { defineList, listChanges, listFilterSlots, listFilters, recordFields } from '../http/exports.ts'
import { pendingFaults } from './admissions.ts'
import { Address, ClientName, clientRow, fieldsIn } from './client-row.ts'
import { type ClientAdministration, clientNotRevoked } from './clients.ts'
import { clientInUse, clientNotPending } from './codes.ts'
import { removalErrorSlot } from './exports.ts'
import {
  invalidClientAddress,
  invalidClientName,
  normalizeAddress,
  normalizeName
} from './name-and-address.ts'

export interface RouteDeps extends Kernel {
  readonly clients: ClientAdministration
}

const params = Type.Object({ client_id: ClientId })
/** The version does not depend on the connection of the client. */
const client = (id: string, filled: SlotReader): Resource => ({
  kind: 'client',
  id,
  async version(em) {
    const found = await em.findOne(Client, { id })
    if (!found) return null
    const fields = await loadFields(id, filled, em)
    const isPending = (await pendingFaults([id], em)).has(id)
    return [
      found.name,
      found.address,
      found.revokedAt,
      ...(isPending ? [true] : []),
      ...Object.values(fields)
    ]
  }
})

const loadFields = async (id: string, filled: SlotReader, em: EntityManager) =>
  (await recordFields.load(fieldsIn(filled), [id], em))(id)

const list = defineList({
  url: '/v1/clients',
  action: 'client.list',
  access: 'user',
  summary: 'Lists the clients that the user may see.',
  schema: filled => ({
    query: closed(listFilters.parameters(filled(listFilterSlots.client))),
    row: clientRow(filled),
    errors: listFilters.errors(filled(listFilterSlots.client))
  }),
  run: async ({ clients }: RouteDeps, { query, principal }) => clients.list(query, principal)
})

const read = defineRoute({
  method: 'GET',
  url: '/v1/clients/:client_id',
  action: 'client.read',
  access: 'user',
  summary: 'Returns one client.',
  schema: filled => ({ params, reply: clientRow(filled), errors: [clientNotFound] }),
  record: ({ client_id: id }, filled) => client(id, filled),
  run: ({ clients }: RouteDeps, call) => clients.read(call.params.client_id, call.principal)
})

const setAddress = defineRoute({
  method: 'PUT',
  url: '/v1/clients/:client_id',
  action: 'client.update',
  access: 'operator',
  summary: 'Sets the public address of a client.',
  description:
    'Sets the host at which the forwarded ports are reached; null clears it. Other fields of the record may be sent back and are ignored.',
  schema: filled => ({
    params,
    body: Type.Unsafe<{ readonly address: string | null }>(
      closed(
        { ...Type.Partial(clientRow(filled) as unknown as TObject).properties, address: Address },
        { examples: [{ address: 'paris.example.net' }] }
      )
    ),
    reply: clientRow(filled),
    errors: [clientNotFound, invalidClientAddress]
  }),
  run: ({ clients, filled }: RouteDeps, { body, change, params: { client_id: id } }) => {
    const address = normalizeAddress(body.address)
    return change(client(id, filled), em => clients.update(id, { address }, em))
  },
  replay: ({ clients }, { principal }, id) => clients.read(id, principal)
})

const rename = defineRoute({
  method: 'PATCH',
  url: '/v1/clients/:client_id/name',
  action: 'client.rename',
  access: 'operator',
  summary: 'Renames a client.',
  description: 'The id, the rules and the control stream of the client do not change.',
  schema: filled => ({
    params,
    body: closed({ client_name: ClientName }),
    reply: clientRow(filled),
    errors: [clientNotFound, invalidClientName]
  }),
  run: ({ clients, filled }: RouteDeps, { body, change, params: { client_id: id } }) => {
    const name = normalizeName(body.client_name)
    return change(client(id, filled), em => clients.update(id, { name }, em))
  },
  replay: ({ clients }, { principal }, id) => clients.read(id, principal)
})

const Patch = Type.Object({ client_name: Type.Optional(ClientName), address: Type.Optional(Address) })

const update = defineRoute({
  method: 'PATCH',
  url: '/v1/clients/:client_id',
  action: 'client.change',
  access: 'operator',
  summary: 'Changes a client.',
  description: 'Absent fields stay. The id, the rules and the control stream of the client do not change.',
  schema: filled => ({
    params,
    body: Type.Unsafe<Static<typeof Patch> & Readonly<Record<string, unknown>>>(
      closed({ ...Patch.properties, ...recordFields.patched(fieldsIn(filled)) })
    ),
    reply: clientRow(filled),
    errors: [
      clientNotFound,
      invalidClientName,
      invalidClientAddress,
      ...recordFields.errors(fieldsIn(filled))
    ]
  }),
  async run({ clients, filled }: RouteDeps, { body, change, params: { client_id: id } }) {
    const { client_name: name, address, ...fields } = body
    const part = {
      ...(name !== undefined && { name: normalizeName(name) }),
      ...(address !== undefined && { address: normalizeAddress(address) }),
      fields
    }
    let changes: readonly FieldChange[] = []
    const resource = { ...client(id, filled), changes: () => changes }
    const row = await change(resource, async em => {
      const before = await loadFields(id, filled, em)
      const row = await clients.update(id, part, em)
      changes = listChanges(before, await loadFields(id, filled, em))
      return row
    })
    return row
  },
  replay: ({ clients }, { principal }, id) => clients.read(id, principal)
})

const approve = defineRoute({
  method: 'POST',
  url: '/v1/clients/:client_id/approve',
  action: 'client.approve',
  access: 'operator',
  summary: 'Approves a pending client.',
  description:
    'An enrollment key with `approve` admitted the client. From now on it can have rules; group rules that choose it are sent at once.',
  schema: filled => ({ params, reply: clientRow(filled), errors: [clientNotFound, clientNotPending] }),
  run: ({ clients, filled }: RouteDeps, { change, params: { client_id: id } }) =>
    change(client(id, filled), em => clients.approve(id, em)),
  replay: ({ clients }, { principal }, id) => clients.read(id, principal)
})

const revoke = defineRoute({
  method: 'POST',
  url: '/v1/clients/:client_id/revoke',
  action: 'client.revoke',
  access: 'operator',
  status: 204,
  summary: 'Revokes a client.',
  description:
    'Revokes the token and ends the control stream of its agent. A re-enrollment lifts the revocation.',
  schema: () => ({ params, reply: Type.Void(), errors: [clientNotFound] }),
  run: async ({ clients, filled }: RouteDeps, { change, params: { client_id: id } }) => {
    const tokenHash = await change(client(id, filled), em => clients.revoke(id, em))
    clients.endSession(id, tokenHash)
  }
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/clients/:client_id',
  action: 'client.delete',
  access: 'operator',
  status: 204,
  summary: 'Deletes a revoked client.',
  description: 'Also deletes its rules, quotas, limits and grants.',
  schema: filled => ({
    params,
    reply: Type.Void(),
    errors: [
      clientNotFound,
      clientNotRevoked,
      clientInUse,
      ...filled(removalErrorSlot).map(({ value }) => value)
    ]
  }),
  run: ({ clients, filled }: RouteDeps, { change, params: { client_id: id } }) =>
    change(client(id, filled), em => clients.remove(id, em))
})

export const routes = [list, read, setAddress, rename, update, approve, revoke, remove]
