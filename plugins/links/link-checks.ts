// Checks before rules get new links.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, limitReached } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { linkNoEndpoint } from './codes.ts'
import { LinkEndpoint } from './entities.ts'
import type { Pair } from './paths/pairs.ts'
import type { keys } from './settings.ts'

const maxLinks = 65_536 // in a store, of those that rules need

/** Throws unless one client of each pair has an endpoint. */
export async function requireEndpoints(pairs: readonly Pair[], em: EntityManager): Promise<void> {
  const listening = new Set<string>()
  for (const some of rowBatches([...new Set(pairs.flat())]))
    for (const { clientId } of await em.find(LinkEndpoint, { clientId: { $in: [...some] } }))
      listening.add(clientId)
  const pair = pairs.find(ids => !ids.some(id => listening.has(id)))
  if (!pair) return
  const [near, far] = pair
  const message = `neither ${near} nor ${far} listens for links; set \`link\` of one of these clients`
  throw new Fault(linkNoEndpoint, message, { details: { clients: [near, far] } })
}

/** Throws if a client of the pairs, or the store, would have more links than it may have. */
export async function requireRoom(
  { config }: Pick<Kernel<typeof keys>, 'config'>,
  added: readonly Pair[],
  em: EntityManager
): Promise<void> {
  if (added.length === 0) return
  const limit = config.max_links_per_client
  for (const clientId of new Set(added.flat())) {
    const own = added.filter(pair => pair.includes(clientId)).length
    if ((await countNeeded(clientId, em)) + own <= limit) continue
    throw new Fault(limitReached, `client ${clientId} has ${limit} links already; remove a rule first`, {
      details: { limit, client_id: clientId }
    })
  }
  if ((await countNeeded(null, em)) + added.length > maxLinks)
    throw new Fault(limitReached, `the server has ${maxLinks} links already; remove a rule first`, {
      details: { limit: maxLinks }
    })
}

/** Counts the links that rules need, of a client or of all. */
async function countNeeded(clientId: string | null, em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ links: number }[]>(
    `select count(*) as links from links
     where exists (select 1 from links_use where links_use.link_id = links.id)
     ${clientId === null ? '' : 'and (near_id = ? or far_id = ?)'}`,
    clientId === null ? [] : [clientId, clientId]
  )
  return Number(row?.links ?? 0)
}
