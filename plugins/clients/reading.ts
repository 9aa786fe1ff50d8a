import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, Fault } from '../../kernel/base/errors.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Clients, visibleSlot } from './exports.ts'
import { type ClientRow, clientRowOf } from './row.ts'

const idsPerQuery = 1000

/** Reads of clients, limited to those that the caller may see. */
export function openReading({ store, control, filled }: Kernel) {
  /** Condition on the clients that the caller may see. */
  async function visibleTo({ role, userId }: Principal, em: EntityManager) {
    if (role === 'superadmin') return {}
    const ids = await Promise.all(filled(visibleSlot).map(({ value: visible }) => visible(userId, em)))
    return { id: { $in: [...new Set(ids.flat())] } }
  }

  const list = (principal: Principal): PagedRows<ClientRow> => ({
    async page(after, take, em) {
      const above = after === null ? {} : { id: { $gt: after } }
      const where = { $and: [await visibleTo(principal, em), above] }
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

export async function getClient(id: string, em: EntityManager): Promise<Client> {
  return (await em.findOne(Client, { id })) ?? refuseUnknown()
}

/** The same error for an id that is malformed, unknown, or of a client that the caller may not see. */
function refuseUnknown(): never {
  throw new Fault(clientNotFound, 'no client has this client_id')
}
