// The fingerprints that agents pin now and next, and the clients that do not trust the next one yet. All statements are SQL,
// because `cert show` reads a running server's store without entities, and the single-file agent contains no ORM.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import type { NamedCertificates } from './certificate.ts'

/** The pinned certificate, the next one, and the next one if the server switches to it by itself: fingerprints. */
type Name = 'leaf' | 'next_leaf' | 'rotating'

export interface UnawareClient {
  readonly client_id: string
  readonly name: string
}

export async function storeValue(name: Name, em: EntityManager): Promise<string | null> {
  const rows = await em.execute<{ value: string }[]>('select value from kernel_store_value where name = ?', [
    name
  ])
  return rows[0]?.value ?? null
}

export const namedCertificates = async (em: EntityManager): Promise<NamedCertificates> => ({
  leaf: await storeValue('leaf', em),
  next: await storeValue('next_leaf', em)
})

export async function setStoreValue(name: Name, value: string | null, em: EntityManager): Promise<void> {
  await em.execute('delete from kernel_store_value where name = ?', [name])
  if (value !== null)
    await em.execute('insert into kernel_store_value (name, value) values (?, ?)', [name, value])
}

/** Counts the enrolled clients: their agents have a token and pin the certificate. */
export async function countEnrolled(em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ count: number }[]>(
    'select count(*) as count from kernel_client where token_hash is not null and revoked_at is null'
  )
  return row?.count ?? 0
}

/** Returns the enrolled clients that have not confirmed, with their current token, that they trust the certificate. */
export const unawareClients = (
  fingerprint: string,
  em: EntityManager,
  limit = 1_000_000_000
): Promise<UnawareClient[]> =>
  em.execute<UnawareClient[]>(
    `select c.id as client_id, c.name from kernel_client c
     left join certificate_next_pin p
       on p.client_id = c.id and p.token_hash = c.token_hash and p.fingerprint = ?
     where c.token_hash is not null and c.revoked_at is null and p.client_id is null
     order by c.name, c.id limit ?`,
    [fingerprint, limit]
  )

/**
 * Throws Fault if enrolled clients pin another certificate, because they could not connect. In a store that servers may
 * share, all servers must have the same one, even without clients.
 */
export async function requirePinned(store: Kernel['store'], fingerprint: string): Promise<void> {
  await store.change(async em => {
    const pinned = await storeValue('leaf', em)
    if (pinned === fingerprint) return
    const count = pinned === null ? 0 : await countEnrolled(em)
    if (pinned !== null && (count > 0 || mayBeShared(em))) {
      const holders = count > 0 ? `${count} enrolled clients pin` : 'the servers of this store have'
      throw new Fault(
        tlsInvalid,
        mismatch(fingerprint, `${holders} ${pinned}`, await storeValue('next_leaf', em))
      )
    }
    await setStoreValue('leaf', fingerprint, em)
  })
}

function mismatch(now: string, other: string, next: string | null): string {
  const lost = `the certificate is ${now}, and ${other}`
  return next === now
    ? `${lost}; it is staged: run sluice cert activate`
    : `${lost}; configure theirs again and stage this one (sluice cert reissue --rotate --from FILE), ` +
        'or run sluice cert activate --force and enroll the clients again'
}
