// Logout tokens that were used. They share a table with the states of sign-ins, and have a separate bound.
import type { EntityManager } from '@mikro-orm/sql'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { UsedState } from '../entities.ts'

const rememberedMs = 600_000 // longer than a logout token is accepted
const maxPerProvider = 2_500 // within these 10 minutes; 20,000 of 8 providers

/** The condition for rows of logout tokens. Networks of callers are addresses. */
export const isLogoutToken = { network: { $like: 'provider %' } }

interface LogoutToken {
  readonly provider: string // its name
  readonly jti: string
}

/** Returns false if the token was used before. Forgets the oldest tokens of the provider beyond 2,500. */
export async function spendLogoutToken(
  em: EntityManager,
  { provider, jti }: LogoutToken,
  now: number
): Promise<boolean> {
  const id = hashOf(`logout ${provider} ${jti}`)
  if ((await em.count(UsedState, { id })) > 0) return false
  const network = `provider ${provider}`
  await forgetOldest(em, network)
  await em.insert(UsedState, { id, network, expiresAt: now + rememberedMs })
  return true
}

async function forgetOldest(em: EntityManager, network: string): Promise<void> {
  const excess = (await em.count(UsedState, { network })) - maxPerProvider + 1
  if (excess <= 0) return
  const oldest = { orderBy: { expiresAt: 'asc' }, limit: excess, fields: ['id'] } as const
  const rows = await em.find(UsedState, { network }, oldest)
  await em.nativeDelete(UsedState, { id: rows.map(({ id }) => id) })
}
