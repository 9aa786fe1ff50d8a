import type { EntityManager } from '@mikro-orm/sql'
import type { Clients } from '../clients/exports.ts'
import type { Rules } from '../rules/exports.ts'

/** Returns the clients that the user may see, and those with the user's rules: their connection is a change for the user. */
export type ShownClients = (userId: string, em: EntityManager) => Promise<readonly string[] | 'all'>

interface Services {
  readonly clients: Pick<Clients, 'visibleIds'>
  readonly rules: Pick<Rules, 'clientsOfOwner'>
}

export const openShownClients =
  ({ clients, rules }: Services): ShownClients =>
  async (userId, em) => {
    const visible = await clients.visibleIds(userId, em)
    return visible === 'all' ? 'all' : [...new Set([...visible, ...(await rules.clientsOfOwner(userId, em))])]
  }
