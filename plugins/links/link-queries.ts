// Queries about rows of links, in batches.
import type { EntityManager } from '@mikro-orm/sql'
import type { ObjectKey } from '../../kernel/control/managed-objects.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { isId } from '../../kernel/platform/id.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { LinkRow } from './entities.ts'
import type { Pair } from './paths/pairs.ts'

export const pairKey = ([near, far]: Pair): string => `${near} ${far}`
export const pairOf = ({ nearId, farId }: Pick<LinkRow, 'nearId' | 'farId'>): Pair => [nearId, farId]

export async function findLinks(ids: readonly string[], em: EntityManager): Promise<LinkRow[]> {
  const links: LinkRow[] = []
  for (const some of rowBatches(ids)) links.push(...(await em.find(LinkRow, { id: { $in: [...some] } })))
  return links
}

/** Returns the links of these pairs, by `pairKey`. */
export async function findPairs(pairs: readonly Pair[], em: EntityManager): Promise<Map<string, LinkRow>> {
  const found = new Map<string, LinkRow>()
  for (const same of Map.groupBy(pairs, ([near]) => near).values())
    for (const some of rowBatches(same)) {
      const nearId = some[0]?.[0] ?? ''
      const links = await em.find(LinkRow, { nearId, farId: { $in: some.map(([, far]) => far) } })
      for (const link of links) found.set(pairKey(pairOf(link)), link)
    }
  return found
}

export const linksOf = (clientId: string, em: EntityManager): Promise<LinkRow[]> =>
  em.find(LinkRow, { $or: [{ nearId: clientId }, { farId: clientId }] })

/** Returns the ids of the clients with this id or name. */
export async function clientIdsOf(client: string, em: EntityManager): Promise<string[]> {
  const where = isId(client) ? { $or: [{ id: client }, { name: client }] } : { name: client }
  const found = await em.find(Client, where, { fields: ['id'] })
  return found.map(({ id }) => id)
}

/** Returns the ids of links that a rule needs. */
export async function neededIds(
  links: readonly Pick<LinkRow, 'id'>[],
  em: EntityManager
): Promise<ReadonlySet<string>> {
  const needed = new Set<string>()
  for (const some of rowBatches(links)) {
    const rows = await em.execute<{ id: string }[]>(
      `select distinct link_id as id from links_use where link_id in (${some.map(() => '?')})`,
      some.map(({ id }) => id)
    )
    for (const { id } of rows) needed.add(id)
  }
  return needed
}

/** Returns the keys of clients that exist. */
export async function onClients(keys: readonly ObjectKey[], em: EntityManager): Promise<ObjectKey[]> {
  const present = await existingClients(
    keys.map(({ clientId }) => clientId),
    em
  )
  return keys.filter(({ clientId }) => present.has(clientId))
}

export async function existingClients(
  ids: readonly string[],
  em: EntityManager
): Promise<ReadonlySet<string>> {
  const present = new Set<string>()
  for (const some of rowBatches([...new Set(ids)])) {
    const found = await em.find(Client, { id: { $in: [...some] } }, { fields: ['id'] })
    for (const { id } of found) present.add(id)
  }
  return present
}
