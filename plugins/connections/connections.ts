// Live connections. Agents are asked when somebody looks, and nothing is kept.
import type { EntityManager } from '@mikro-orm/sql'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Scope } from './closing.ts'
import { openClosing } from './closing.ts'
import { descending, type Meant, openLook, type Position, type Services } from './look.ts'
import { type ConnectionRow, type Filter, type ListQuery, parseTarget } from './schema.ts'
import { openWatches } from './watch.ts'
import { capability, type Selection } from './wire.ts'

export type { Services } from './look.ts'

export type Connections = ReturnType<typeof openConnections>

export function openConnections(services: Services) {
  const { control } = services
  const look = openLook(services)

  async function meant(filter: Filter, { role, userId }: Principal, em: EntityManager): Promise<Meant> {
    const { client, rule_id, owner, source, target, protocol } = filter
    const parts = rule_id === undefined ? null : await services.rules.listMembers(rule_id, em)
    const partOn = parts && new Map(parts.map(({ id, clientId }) => [clientId, id]))
    const seen = role === 'superadmin' ? owner : userId
    const isOthers = role !== 'superadmin' && owner !== undefined && owner !== userId
    const named = await clientIds(services, { client, owner: seen }, em)
    const onPart = partOn && new Set(partOn.keys())
    const at = target === undefined ? null : parseTarget(target)
    const selection: Selection = {
      ids: [],
      ...(seen !== undefined && { owner: seen }),
      ...(protocol !== undefined && { protocol }),
      ...(source !== undefined && { source }),
      ...(at && { target: at.address, ...(at.port !== undefined && { target_port: at.port }) })
    }
    return {
      clients: isOthers ? new Set() : ((named && onPart && named.intersection(onPart)) ?? named ?? onPart),
      selectionOn(clientId) {
        const part = partOn?.get(clientId)
        return part === undefined ? selection : { ...selection, rule_id: part }
      }
    }
  }

  async function scopeOf(filter: Filter, principal: Principal, em: EntityManager): Promise<readonly Scope[]> {
    const { clients, selectionOn } = await meant(filter, principal, em)
    return control.peers
      .all()
      .filter(peer => (clients?.has(peer.clientId) ?? true) && peer.can(capability))
      .map(peer => ({ peer, selection: selectionOn(peer.clientId) }))
  }

  function list({ sort = 'age', ...filter }: ListQuery, principal: Principal): PagedRows<ConnectionRow> {
    return {
      async page(after, take, em) {
        const asked = await scopeOf(filter, principal, em)
        const position = positionOf(after)
        const found = await Promise.all(
          asked.map(({ peer, selection }) => look.rows(peer, { selection, sort, take, after: position }))
        )
        return found
          .flat()
          .sort(descending)
          .slice(0, take)
          .map(({ row, key, clientId, id }) => ({ key: `${key} ${clientId} ${id}`, row }))
      }
    }
  }

  return { list, watch: openWatches(services, look, meant), ...openClosing(services, look, scopeOf) }
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
