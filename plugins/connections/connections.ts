// Live connections. Agents are asked when somebody looks, and nothing is kept.
import type { EntityManager } from '@mikro-orm/sql'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Scope } from './closing.ts'
import { openClosing } from './closing.ts'
import { descending, openLook, type Position, type Services } from './look.ts'
import { type ConnectionRow, type Filter, type ListQuery, parseTarget } from './schema.ts'
import { capability, type Selection } from './wire.ts'

export type { Services } from './look.ts'

export type Connections = ReturnType<typeof openConnections>

export function openConnections(services: Services) {
  const { control } = services
  const look = openLook(services)

  async function scopeOf(
    filter: Filter,
    { role, userId }: Principal,
    em: EntityManager
  ): Promise<readonly Scope[]> {
    const { client, rule_id, owner, source, target, protocol } = filter
    const parts = rule_id === undefined ? null : await services.rules.partsOf(rule_id, em)
    const partOn = parts && new Map(parts.map(({ id, clientId }) => [clientId, id]))
    const seen = role === 'superadmin' ? owner : userId
    const ids = await clientIds(services, { client, owner: seen }, em)
    const isOthers = role !== 'superadmin' && owner !== undefined && owner !== userId
    const at = target === undefined ? null : parseTarget(target)
    const selection: Selection = {
      ids: [],
      ...(seen !== undefined && { owner: seen }),
      ...(protocol !== undefined && { protocol }),
      ...(source !== undefined && { source }),
      ...(at && { target: at.address, ...(at.port !== undefined && { target_port: at.port }) })
    }
    return control.peers
      .all()
      .filter(({ clientId }) => !isOthers && (ids?.has(clientId) ?? true) && (partOn?.has(clientId) ?? true))
      .filter(peer => peer.can(capability))
      .map(peer => {
        const part = partOn?.get(peer.clientId)
        return { peer, selection: part === undefined ? selection : { ...selection, rule_id: part } }
      })
  }

  function list({ sort = 'age', ...filter }: ListQuery, principal: Principal): PagedRows<ConnectionRow> {
    return {
      async page(after, take, em) {
        const asked = await scopeOf(filter, principal, em)
        const position = positionOf(after)
        const found = await Promise.all(
          asked.map(({ peer, selection }) => look(peer, { selection, sort, take, after: position }))
        )
        return found
          .flat()
          .sort(descending)
          .slice(0, take)
          .map(({ row, key, clientId, id }) => ({ key: `${key} ${clientId} ${id}`, row }))
      }
    }
  }

  return { list, ...openClosing(services, scopeOf) }
}

interface Where {
  readonly client: string | undefined
  readonly owner: string | undefined
}

/** Returns the clients on which there may be such rules; null: all. */
async function clientIds(
  { rules }: Pick<Services, 'rules'>,
  { client, owner }: Where,
  em: EntityManager
): Promise<ReadonlySet<string> | null> {
  const all: (readonly string[])[] = []
  if (owner !== undefined) all.push(await rules.clientsOfOwner(owner, em))
  if (client !== undefined)
    all.push((await em.find(Client, { $or: [{ id: client }, { name: client }] })).map(({ id }) => id))
  const [first, ...others] = all.map(ids => new Set(ids))
  return first === undefined ? null : others.reduce((left, ids) => left.intersection(ids), first)
}

function positionOf(after: string): Position | null {
  const [key, clientId, id] = after.split(' ')
  return clientId === undefined ? null : { key: Number(key), clientId, id: Number(id) }
}
