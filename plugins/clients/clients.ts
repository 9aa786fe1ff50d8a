import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, defineCode, Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Rows } from '../../kernel/http/listing.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client, ManagedObjectRow, SpentToken } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { removingSlot, revokingSlot, visibleSlot } from './exports.ts'
import { addressOf, nameOf } from './label.ts'
import { type ClientRow, rowOf } from './row.ts'

export const clientNotRevoked = defineCode('client_not_revoked', 409, 5)

interface ClientCount {
  readonly total: number
  readonly connected: number
}

const idsPerQuery = 1000

export type Clients = ReturnType<typeof openClients>

export function openClients({ store, clock, identity, control, filled }: Kernel) {
  const shown = (client: Client): ClientRow => rowOf(client, control.peers.find(client.id))

  async function get(id: string, em: EntityManager): Promise<Client> {
    return (await em.findOne(Client, { id })) ?? unknown()
  }

  /** What the caller may see of the clients, as a condition on them. */
  async function visibleTo({ role, userId }: Principal, em: EntityManager) {
    if (role === 'superadmin') return {}
    const ids = await Promise.all(filled(visibleSlot).map(({ value: visible }) => visible(userId, em)))
    return { id: { $in: [...new Set(ids.flat())] } }
  }

  const list = (principal: Principal): Rows<ClientRow> => ({
    async page(after, take, em) {
      const above = after === null ? {} : { id: { $gt: after } }
      const where = { $and: [await visibleTo(principal, em), above] }
      const page = await em.find(Client, where, { orderBy: { id: 'asc' }, limit: take })
      return page.map(client => ({ key: client.id, row: shown(client) }))
    }
  })

  /** How many clients `list` would show. */
  async function count(principal: Principal, em: EntityManager): Promise<ClientCount> {
    const visible = await visibleTo(principal, em)
    const peers = control.peers.all().map(({ clientId }) => clientId)
    let connected = 0
    for (let at = 0; at < peers.length; at += idsPerQuery) {
      const live = { id: { $in: peers.slice(at, at + idsPerQuery) }, revokedAt: null }
      connected += await em.count(Client, { $and: [visible, live] })
    }
    return { total: await em.count(Client, visible), connected }
  }

  /** One that the caller may not see is as unknown as one that is not there. */
  const read = (id: string, principal: Principal): Promise<ClientRow> =>
    store.read(async em => {
      const found = await em.findOne(Client, { $and: [{ id }, await visibleTo(principal, em)] })
      return shown(found ?? unknown())
    })

  /** Never touches the stream: a name and an address are for people. */
  async function relabel(id: string, part: { name: string } | { address: string | null }, em: EntityManager) {
    await em.nativeUpdate(Client, { id }, part)
    return shown(await get(id, em))
  }

  /** Answers the hash of the token that holds no more: after the commit, `cut` ends its session. */
  async function revoke(id: string, em: EntityManager): Promise<string | null> {
    const client = await get(id, em)
    if (client.tokenHash) await identity.spend(em, id, client.tokenHash)
    const revokedAt = client.revokedAt ?? clock.now()
    await em.nativeUpdate(Client, { id }, { tokenHash: null, revokedAt })
    for (const { value: end } of filled(revokingSlot)) await end(client, em)
    return client.tokenHash ?? null
  }

  async function remove(id: string, em: EntityManager): Promise<void> {
    const client = await get(id, em)
    if (!client.revokedAt)
      throw new Fault(clientNotRevoked, `client ${id} is not revoked; revoke it before it is deleted`)
    for (const { value: end } of filled(removingSlot)) await end(client, em)
    await em.nativeDelete(ManagedObjectRow, { clientId: id })
    await em.nativeDelete(Client, { id })
  }

  /** Ends the session that came in with this token, which holds no more; one with a newer token goes on. */
  function cut(id: string, tokenHash: string | null): void {
    const peer = control.peers.find(id)
    if (peer?.tokenHash === tokenHash) peer.end('token_revoked')
  }

  /** True for a token that nobody had before; the one that the client has now may be given again. */
  async function isFree(tokenHash: string, clientId: string | null, em: EntityManager): Promise<boolean> {
    const holder = await em.findOne(Client, { tokenHash })
    return (
      (holder === null || holder.id === clientId) && (await em.count(SpentToken, { hash: tokenHash })) === 0
    )
  }

  async function enroll(
    made: Pick<Client, 'name' | 'address' | 'tokenHash'>,
    em: EntityManager
  ): Promise<Client> {
    const id = newId(clock.now())
    await em.insert(Client, { ...made, id, revision: 0, enrolledAt: clock.now() })
    return get(id, em)
  }

  /**
   * Lifts a revocation and spends the old token, whose session `cut` ends after the commit.
   * Answers the client as it was before.
   */
  async function swapToken(id: string, tokenHash: string, em: EntityManager): Promise<Client> {
    const client = await get(id, em)
    if (client.tokenHash && client.tokenHash !== tokenHash) await identity.spend(em, id, client.tokenHash)
    await em.nativeUpdate(Client, { id }, { tokenHash, revokedAt: null })
    return client
  }

  return {
    get,
    list,
    count,
    read,
    relabel,
    revoke,
    remove,
    cut,
    isFree,
    enroll,
    swapToken,
    nameOf,
    addressOf
  }
}

/** One answer for an id that is malformed, that never was, and that the caller may not see. */
function unknown(): never {
  throw new Fault(clientNotFound, 'no client has this client_id')
}
