import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, Fault } from '../../kernel/base/errors.ts'
import { isId } from '../../kernel/base/id.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { clientNameAmbiguous } from '../clients/exports.ts'

/** Treats text in the form of an id as an id, and any other as a name. */
export const clientsNamed = (client: string): { id: string } | { name: string } =>
  isId(client) ? { id: client } : { name: client }

/** Finds one client by id or name, among all or the `allowed` ones; throws when several have the name. */
export async function findClient(
  client: string,
  em: EntityManager,
  allowed?: ReadonlySet<string>
): Promise<Client | null> {
  const all = await em.find(Client, clientsNamed(client), { orderBy: { id: 'asc' } })
  const found = allowed ? all.filter(({ id }) => allowed.has(id)) : all
  if (found.length < 2) return found[0] ?? null
  const details = { client_ids: found.map(({ id }) => id) }
  throw new Fault(clientNameAmbiguous, `${found.length} clients are named ${client}; give an id`, { details })
}

export async function requireClient(client: string, em: EntityManager): Promise<Client> {
  const found = await findClient(client, em)
  if (!found) throw new Fault(clientNotFound, `there is no client ${client}`)
  return found
}
