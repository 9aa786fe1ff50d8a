import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, defineCode, Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client, ManagedObjectRow, SpentToken } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import { listFilterSlots, listFilters, recordFields } from '../http/exports.ts'
import { type ClientRow, fieldsIn, toClientRows } from './client-row.ts'
import { type Clients, changedSlot, removingSlot, revokingSlot, visibleSlot } from './exports.ts'
import { normalizeAddress, normalizeName } from './name-and-address.ts'

export const clientNotRevoked = defineCode('client_not_revoked', 409, 5)

const idsPerQuery = 1000

/** The service `clients`, with more methods for the routes. */
export interface ClientAdministration extends Clients {
  /** Lists the clients that the user may see. */
  list(query: Values, principal: Principal): PagedRows<ClientRow>
  /** Sets the name, the address and the fields of other plugins. The control stream stays open. */
  update(id: string, part: ClientPart, em: EntityManager): Promise<ClientRow>
  /** Returns the hash of the revoked token; call `endSession` with it after the commit. */
  revoke(id: string, em: EntityManager): Promise<string | null>
  /** Throws `client_not_revoked` for a client that is not revoked. */
  remove(id: string, em: EntityManager): Promise<void>
}

export function openClients(kernel: Kernel): ClientAdministration {
  const { clock, identity, filled } = kernel
  return {
    ...openReads(kernel),
    ...openFilters(kernel),
    ...openTokens(kernel),
    get: getClient,
    normalizeName,
    normalizeAddress,

    async update(id, { fields = {}, ...part }, em) {
      const client = await getClient(id, em)
      if (Object.keys(part).length > 0) await em.nativeUpdate(Client, { id }, part)
      await recordFields.patch(fieldsIn(filled), id, { body: fields, em })
      if (Object.keys(fields).length > 0) await notifyChanged(client, filled, em)
      return toRow({ ...client, ...part }, kernel, em)
    },

    async revoke(id, em) {
      const client = await getClient(id, em)
      if (client.tokenHash) await identity.recordSpentToken(em, id, client.tokenHash)
      const revokedAt = client.revokedAt ?? clock.now()
      await em.nativeUpdate(Client, { id }, { tokenHash: null, revokedAt })
      noteToken(em, client, { tokenHash: null, revokedAt, now: clock.now() })
      for (const { value: onRevoke } of filled(revokingSlot)) await onRevoke(client, em)
      return client.tokenHash ?? null
    },

    async remove(id, em) {
      const client = await getClient(id, em)
      if (!client.revokedAt) throw new Fault(clientNotRevoked, `client ${id} is not revoked; revoke it first`)
      for (const { value: onRemove } of filled(removingSlot)) await onRemove(client, em)
      await recordFields.remove(fieldsIn(filled), [id], em)
      await em.nativeDelete(ManagedObjectRow, { clientId: id })
      await em.nativeDelete(Client, { id })
    }
  }
}

type Values = Readonly<Record<string, unknown>>

interface ClientPart {
  readonly name?: string
  readonly address?: string | null
  readonly fields?: Values // of other plugins, as in the body of PATCH
}

async function toRow(
  client: Client,
  { control, filled }: Pick<Kernel, 'control' | 'filled'>,
  em: EntityManager
): Promise<ClientRow> {
  const [row] = await toClientRows([client], { peers: control.peers, filled }, em)
  if (!row) throw new TypeError(`client ${client.id} has no row`)
  return row
}

async function notifyChanged(
  client: Pick<Client, 'id'>,
  filled: SlotReader,
  em: EntityManager
): Promise<void> {
  for (const { value: onChange } of filled(changedSlot)) await onChange(client, em)
}

type Tokens = Pick<Clients, 'enroll' | 'isTokenAvailable' | 'replaceToken' | 'endSession'>

function openTokens({ clock, identity, control, filled }: Kernel): Tokens {
  return {
    async enroll({ fields: values, ...client }, em) {
      const id = newId(clock.now())
      await em.insert(Client, { ...client, id, revision: 0, enrolledAt: clock.now() })
      await recordFields.save(fieldsIn(filled), id, { values, em })
      await notifyChanged({ id }, filled, em)
      return getClient(id, em)
    },

    async isTokenAvailable(tokenHash, clientId, em) {
      const holder = await em.findOne(Client, { tokenHash })
      return (
        (holder === null || holder.id === clientId) && (await em.count(SpentToken, { hash: tokenHash })) === 0
      )
    },

    async replaceToken(id, tokenHash, em) {
      const client = await getClient(id, em)
      if (client.tokenHash && client.tokenHash !== tokenHash)
        await identity.recordSpentToken(em, id, client.tokenHash)
      await em.nativeUpdate(Client, { id }, { tokenHash, revokedAt: null })
      noteToken(em, client, { tokenHash, revokedAt: null, now: clock.now() })
      return client
    },

    endSession(id, tokenHash) {
      const peer = control.peers.find(id)
      if (peer?.tokenHash === tokenHash) peer.end('token_revoked')
    }
  }
}

const insertSpent =
  'insert into kernel_spent_token (hash, client_id, spent_at) values (?, ?, ?) on conflict do nothing'

/** The token of a client after a change. */
interface Token {
  readonly tokenHash: string | null // null: none
  readonly revokedAt: number | null
  readonly now: number
}

/** Records the change, so that a failover to a standby that was behind repeats it. */
function noteToken(
  em: EntityManager,
  { id, tokenHash: spent }: Client,
  { tokenHash, revokedAt, now }: Token
): void {
  if (spent && spent !== tokenHash) noteRevoked(em, insertSpent, [spent, id, now])
  noteRevoked(em, 'update kernel_client set token_hash = ?, revoked_at = ? where id = ?', [
    tokenHash,
    revokedAt,
    id
  ])
}

type Filters = Pick<Clients, 'matching' | 'requireFilter' | 'filterErrors'>

/** Returns the methods that select clients with the parameters of their list. */
function openFilters({ filled }: Pick<Kernel, 'filled'>): Filters {
  const filters = () => filled(listFilterSlots.client)
  return {
    async matching(query, { among, take }, em) {
      const some = among ? { id: { $in: [...among] } } : {}
      const where = { $and: [some, listFilters.where(filters(), query)] }
      const found = await em.find(Client, where, { fields: ['id'], orderBy: { id: 'asc' }, limit: take })
      return found.map(({ id }) => id)
    },
    requireFilter(query) {
      const known = listFilters.parameters(filters())
      const other = Object.keys(query).find(name => !(name in known))
      if (other !== undefined)
        throw new Fault(invalidSchema, `/${other}: no loaded plugin adds it to the list of clients`, {
          details: { field: `/${other}`, reason: 'unknown' }
        })
      listFilters.where(filters(), query)
    },
    filterErrors: () => listFilters.errors(filters())
  }
}

/** Returns the methods that read the clients that the user may see. */
function openReads({ store, control, filled }: Kernel) {
  /** Returns a condition for the clients that the user may see. */
  async function visibleTo({ role, userId }: Principal, em: EntityManager) {
    if (role === 'superadmin') return {}
    const ids = await Promise.all(filled(visibleSlot).map(({ value: visible }) => visible(userId, em)))
    return { id: { $in: [...new Set(ids.flat())] } }
  }

  const list = (query: Values, principal: Principal): PagedRows<ClientRow> => ({
    async page(after, take, em) {
      const wanted = listFilters.where(filled(listFilterSlots.client), query)
      const where = { $and: [await visibleTo(principal, em), { id: { $gt: after } }, wanted] }
      const page = await em.find(Client, where, { orderBy: { id: 'asc' }, limit: take })
      const rows = await toClientRows(page, { peers: control.peers, filled }, em)
      return rows.map(row => ({ key: row.client_id, row }))
    }
  })

  const count: Clients['count'] = async (principal, em) => {
    const visible = await visibleTo(principal, em)
    const peers = control.peers.all().map(({ clientId }) => clientId)
    let connected = 0
    for (let at = 0; at < peers.length; at += idsPerQuery) {
      const live = { id: { $in: peers.slice(at, at + idsPerQuery) }, revokedAt: null }
      connected += await em.count(Client, { $and: [visible, live] })
    }
    return { total: await em.count(Client, visible), connected }
  }

  const read: Clients['read'] = (id, principal) =>
    store.read(async em => {
      const client = await em.findOne(Client, { $and: [{ id }, await visibleTo(principal, em)] })
      return toRow(client ?? refuseUnknown(), { control, filled }, em)
    })

  return { list, count, read }
}

async function getClient(id: string, em: EntityManager): Promise<Client> {
  return (await em.findOne(Client, { id })) ?? refuseUnknown()
}

/** Throws the same error for a malformed or unknown id, and for a client that the caller must not see. */
function refuseUnknown(): never {
  throw new Fault(clientNotFound, 'no client has this client_id')
}
