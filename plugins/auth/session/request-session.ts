import type { EntityManager } from '@mikro-orm/sql'
import type { RequestInfo } from '../../../kernel/http/principal.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { isSame } from '../../../kernel/identity/secret.ts'
import { Password, Session } from '../entities.ts'
import { keyHashIn, tokenHashesIn } from './session-cookie.ts'

/** A session with its user. */
export interface KnownSession {
  readonly session: Session
  readonly user: User
  readonly mustChange: boolean // the password is temporary
}

/** Returns the session of a cookie with this hash, expired or not. */
export async function findSession(tokenHash: string, em: EntityManager): Promise<KnownSession | null> {
  const session = await em.findOne(Session, { tokenHash })
  const user = session && (await em.findOne(User, { id: session.userId }))
  if (!user) return null
  const password = await em.findOne(Password, { userId: user.id })
  return { session, user, mustChange: password?.changeRequired === true }
}

interface Search {
  readonly find: typeof findSession
  readonly isExpired: (session: Session) => boolean
}

/**
 * Returns the session of a request, or null. The first valid cookie counts. A session that is bound to the key of the
 * request precedes others, so that a cookie planted by another page does not replace it. A disabled user comes last.
 */
export async function findRequestSession(
  info: RequestInfo,
  em: EntityManager,
  { find, isExpired }: Search
): Promise<KnownSession | null> {
  const keyHash = keyHashIn(info)
  const valid: KnownSession[] = []
  for (const hash of await storedHashes(tokenHashesIn(info), em)) {
    const found = await find(hash, em)
    if (found && !isExpired(found.session) && hasKey(found.session, keyHash)) valid.push(found)
  }
  const enabled = valid.filter(({ user }) => !user.disabled)
  return enabled.find(({ session }) => session.keyHash) ?? enabled[0] ?? valid[0] ?? null
}

/** Omits unknown hashes with one query if there are several. */
async function storedHashes(hashes: readonly string[], em: EntityManager): Promise<readonly string[]> {
  if (hashes.length < 2) return hashes
  const rows = await em.find(Session, { tokenHash: { $in: [...hashes] } }, { fields: ['tokenHash'] })
  const stored = new Set(rows.map(({ tokenHash }) => tokenHash))
  return hashes.filter(hash => stored.has(hash))
}

/** Requests with a key have only sessions with it: another page can plant a session, but none with the key. */
const hasKey = ({ keyHash }: Session, presented: string | null): boolean =>
  presented === null ? !keyHash : !!keyHash && isSame(presented, keyHash)
