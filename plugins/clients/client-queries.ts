// Reads of clients: the list, one client, counts, and the clients that a selector chooses.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { listFilterSlots, listFilters, type PagedRows, seesAll } from '../http/exports.ts'
import { isApproved } from './admissions.ts'
import { type ClientRow, toClientRows, withoutAddresses } from './client-row.ts'
import { type Clients, namedSlot, visibleSlot } from './exports.ts'
import { refuseUnknown } from './get-client.ts'

const idsPerQuery = 1000

type Filters = Pick<Clients, 'matching' | 'requireFilter' | 'filterErrors'>

/** Returns the methods that select clients with the parameters of their list. */
export function openFilters({ filled }: Pick<Kernel, 'filled'>): Filters {
  const filters = () => filled(listFilterSlots.client)
  return {
    async matching(query, { among, take }, em) {
      const some = among ? { id: { $in: [...among] } } : {}
      const where = { $and: [some, isApproved(), listFilters.where(filters(), query)] }
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
export function openReads({ store, control, clock, filled }: Kernel) {
  /** Returns the clients that the user sees with their addresses. */
  const openIds = async (userId: string, em: EntityManager): Promise<Scope> =>
    union(await Promise.all(filled(visibleSlot).map(({ value: visible }) => visible(userId, em))))

  const visibleIds: Clients['visibleIds'] = async (userId, em) => {
    const named = await Promise.all(filled(namedSlot).map(({ value }) => value(userId, em)))
    return union([await openIds(userId, em), ...named])
  }

  /** Returns a condition for the clients that the user may see. */
  async function visibleTo(caller: Principal, em: EntityManager) {
    const ids = seesAll(caller) ? 'all' : await visibleIds(caller.userId, em)
    return ids === 'all' ? {} : { id: { $in: [...ids] } }
  }

  async function toRows(clients: readonly Client[], caller: Principal, em: EntityManager) {
    const rows = await toClientRows(clients, { peers: control.peers, clock, filled, principal: caller }, em)
    const open = seesAll(caller) ? 'all' : await openIds(caller.userId, em)
    return open === 'all'
      ? rows
      : rows.map(row => (open.includes(row.client_id) ? row : withoutAddresses(row)))
  }

  const list = (query: Readonly<Record<string, unknown>>, principal: Principal): PagedRows<ClientRow> => ({
    async page(after, take, em) {
      const wanted = listFilters.where(filled(listFilterSlots.client), query)
      const where = { $and: [await visibleTo(principal, em), { id: { $gt: after } }, wanted] }
      const page = await em.find(Client, where, { orderBy: { id: 'asc' }, limit: take })
      return (await toRows(page, principal, em)).map(row => ({ key: row.client_id, row }))
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
      const [row] = await toRows(client ? [client] : [], principal, em)
      return row ?? refuseUnknown()
    })

  return { visibleIds, list, count, read }
}

type Scope = readonly string[] | 'all'

const union = (scopes: readonly Scope[]): Scope => {
  const ids = scopes.filter(scope => scope !== 'all')
  return ids.length < scopes.length ? 'all' : [...new Set(ids.flat())]
}
