// A ticket proves the right password while the user answers a further step. The store has only its hash, so a ticket is
// valid at every server.
import type { EntityManager } from '@mikro-orm/sql'
import { hashOf, isSame, newSecret } from '../../../kernel/identity/secret.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import { Ticket } from '../entities.ts'
import type { RunningTime } from '../throttle/running-time.ts'

export const ticketMs = 5 * 60_000
const maxTries = 5
const maxPerUser = 20

type NewTicket = Pick<Ticket, 'userId' | 'keyHash' | 'step' | 'methods' | 'passed' | 'factors'> & {
  readonly remoteAddr: string
}

export interface Tickets {
  /** Returns a new ticket. Of more than 20 of a user, the oldest of the network with the most ends. */
  issue(em: EntityManager, ticket: NewTicket): Promise<string>
  /** Returns null for a ticket that is unknown, expired, spent, or made with another session key. */
  find(em: EntityManager, ticket: string, keyHash: string | null): Promise<Ticket | null>
  /** Counts a try. Returns false after 5 tries, and if another request has used the ticket since `find`. */
  take(em: EntityManager, ticket: Ticket): Promise<boolean>
  spend(em: EntityManager, ticket: Ticket): Promise<number>
  /** Ends all tickets of a user. */
  endAll(em: EntityManager, userId: string): Promise<number>
  /** Deletes expired tickets. */
  sweep(em: EntityManager): Promise<number>
}

export function openTickets({ runningTime: time }: { readonly runningTime: RunningTime }): Tickets {
  const expired = async (em: EntityManager) => ({ expiresAt: { $lte: await time.now(em) } })

  return {
    async issue(em, { remoteAddr, ...ticket }) {
      const secret = newSecret()
      await em.nativeDelete(Ticket, { userId: ticket.userId, ...(await expired(em)) })
      const expiresAt = (await time.now(em)) + ticketMs
      const network = networkOf(remoteAddr).slice(0, 64)
      await em.insert(Ticket, { ...ticket, id: hashOf(secret), network, tries: 0, expiresAt })
      await endExcess(em, ticket.userId)
      return secret
    },

    async find(em, ticket, keyHash) {
      const row = await em.findOne(Ticket, { id: hashOf(ticket) })
      if (!row || row.expiresAt <= (await time.now(em))) return null
      return hasKey(row, keyHash) ? row : null
    },

    take: async (em, { id, tries }) =>
      tries < maxTries && (await em.nativeUpdate(Ticket, { id, tries }, { tries: tries + 1 })) === 1,
    spend: (em, { id }) => em.nativeDelete(Ticket, { id }),
    endAll: (em, userId) => em.nativeDelete(Ticket, { userId }),
    sweep: async em => em.nativeDelete(Ticket, await expired(em))
  }
}

const hasKey = ({ keyHash }: Ticket, given: string | null): boolean =>
  keyHash && given ? isSame(keyHash, given) : keyHash === given

/** Others with the same password must not crowd out the user: the busiest network loses its oldest ticket. */
async function endExcess(em: EntityManager, userId: string): Promise<void> {
  const rows = await em.find(Ticket, { userId }, { orderBy: { expiresAt: 'asc', id: 'asc' } })
  if (rows.length <= maxPerUser) return
  const byNetwork = [...Map.groupBy(rows, ({ network }) => network).values()]
  const [oldest] = byNetwork.reduce((most, some) => (some.length > most.length ? some : most))
  if (oldest) await em.nativeDelete(Ticket, { id: oldest.id })
}
