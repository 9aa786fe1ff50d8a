// One-time codes of 80 bits for a user who has lost the authenticator app. The store has their hashes: no dictionary has the codes.
import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { hashOf } from '../../kernel/identity/secret.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import { RecoveryCode } from './entities.ts'
import { toBase32 } from './totp.ts'

const count = 10

/** Returns ten new codes, such as 'ABCD-EFGH-IJKL-MNOP'. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: count }, () => (toBase32(randomBytes(10)).match(/.{4}/g) ?? []).join('-'))

/** Stores the codes of a user; earlier ones end. */
export async function replaceRecoveryCodes(
  em: EntityManager,
  userId: string,
  codes: readonly string[]
): Promise<void> {
  await dropRecoveryCodes(em, userId)
  await em.insertMany(
    RecoveryCode,
    codes.map(code => ({ id: idOf(userId, code), userId }))
  )
}

export async function dropRecoveryCodes(em: EntityManager, userId: string): Promise<void> {
  noteRevoked(em, 'delete from second_factor_recovery_code where user_id = ?', [userId])
  await em.nativeDelete(RecoveryCode, { userId })
}

/** Returns false for a code that is unknown or was used. A code works once, also in concurrent requests. */
export async function useRecoveryCode(em: EntityManager, userId: string, code: string): Promise<boolean> {
  const id = idOf(userId, code)
  noteRevoked(em, 'delete from second_factor_recovery_code where id = ?', [id])
  return (await em.nativeDelete(RecoveryCode, { id, userId })) === 1
}

/** Ignores case, spaces and hyphens. */
const idOf = (userId: string, code: string): string =>
  hashOf(`${userId} ${code.replaceAll(/[\s-]/g, '').toUpperCase()}`)
