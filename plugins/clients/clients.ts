import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, defineCode, Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client, ManagedObjectRow, SpentToken } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Clients, removingSlot, revokingSlot, visibleSlot } from './exports.ts'
import { normalizeAddress, normalizeName } from './name-and-address.ts'
import { type ClientRow, clientRowOf } from './row.ts'

export const clientNotRevoked = defineCode('client_not_revoked', 409, 5)

const idsPerQuery = 1000

export type ClientAdministration = ReturnType<typeof openClients>

/** Returns the service `clients`, with more methods for the routes. */
export function openClients(kernel: Kernel) {
  const { clock, identity, control, filled } = kernel
  return {
    ...openReading(kernel),
    ...openTokens(kernel),
    get: getClient,
    normalizeName,
    normalizeAddress,

    /** Sets the name or the address. The control stream stays open. */
    async update(id: string, part: { name: string } | { address: string | null }, em: EntityManager) {
      await em.nativeUpdate(Client, { id }, part)
      return clientRowOf(await getClient(id, em), control.peers)
    },

    /** Returns the hash of the revoked token; call `endSession` with it after the commit. */
    async revoke(id: string, em: EntityManager): Promise<string | null> {
      const client = await getClient(id, em)
      if (client.tokenHash) await identity.recordSpentToken(em, id, client.tokenHash)
      const revokedAt = client.revokedAt ?? clock.now()
      await em.nativeUpdate(Client, { id }, { tokenHash: null, revokedAt })
      for (const { value: onRevoke } of filled(revokingSlot)) await onRevoke(client, em)
      return client.tokenHash ?? null
    },

    async remove(id: string, em: EntityManager): Promise<void> {
      const client = await getClient(id, em)
      if (!client.revokedAt)
        throw new Fault(clientNotRevoked, `client ${id} is not revoked; revoke it before you delete it`)
      for (const { value: onRemove } of filled(removingSlot)) await onRemove(client, em)
      await em.nativeDelete(ManagedObjectRow, { clientId: id })
      await em.nativeDelete(Client, { id })
    }
  }
}

type Tokens = Pick<Clients, 'enroll' | 'isTokenAvailable' | 'replaceToken' | 'endSession'>

function openTokens({ clock, identity, control }: Kernel): Tokens {
  return {
    async enroll(client, em) {
      const id = newId(clock.now())
      await em.insert(Client, { ...client, id, revision: 0, enrolledAt: clock.now() })
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
      return client
    },

    endSession(id, tokenHash) {
      const peer = control.peers.find(id)
      if (peer?.tokenHash === tokenHash) peer.end('token_revoked')
    }
  }
}

/** Returns the methods that read clients, limited to those that the caller may see. */
function openReading({ store, control, filled }: Kernel) {
  /** Returns a condition for the clients that the caller may see. */
  async function visibleTo({ role, userId }: Principal, em: EntityManager) {
    if (role === 'superadmin') return {}
    const ids = await Promise.all(filled(visibleSlot).map(({ value: visible }) => visible(userId, em)))
    return { id: { $in: [...new Set(ids.flat())] } }
  }

  const list = (principal: Principal): PagedRows<ClientRow> => ({
    async page(after, take, em) {
      const where = { $and: [await visibleTo(principal, em), { id: { $gt: after } }] }
      const page = await em.find(Client, where, { orderBy: { id: 'asc' }, limit: take })
      return page.map(client => ({ key: client.id, row: clientRowOf(client, control.peers) }))
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
      return clientRowOf(client ?? refuseUnknown(), control.peers)
    })

  return { list, count, read }
}

async function getClient(id: string, em: EntityManager): Promise<Client> {
  return (await em.findOne(Client, { id })) ?? refuseUnknown()
}

/** The same error for an id that is malformed, unknown, or of a client that the caller may not see. */
function refuseUnknown(): never {
  throw new Fault(clientNotFound, 'no client has this client_id')
}
