import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, Fault } from '../../kernel/base/errors.ts'
import { isId } from '../../kernel/base/id.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { clientNameAmbiguous } from '../clients/exports.ts'

/** An id when it has the form of one, else a name. */
export const clientsOf = (client: string): { id: string } | { name: string } =>
  isId(client) ? { id: client } : { name: client }

/** The one that is meant, of all clients or of those that are `known` to the caller. */
export async function findClient(
  client: string,
  em: EntityManager,
  known?: ReadonlySet<string>
): Promise<Client | null> {
  const all = await em.find(Client, clientsOf(client), { orderBy: { id: 'asc' } })
  const found = known ? all.filter(({ id }) => known.has(id)) : all
  if (found.length < 2) return found[0] ?? null
  const details = { client_ids: found.map(({ id }) => id) }
  throw new Fault(clientNameAmbiguous, `${found.length} clients are named ${client}; give an id`, { details })
}

export async function requireClient(client: string, em: EntityManager): Promise<Client> {
  const found = await findClient(client, em)
  if (!found) throw new Fault(clientNotFound, `there is no client ${client}`)
  return found
}
