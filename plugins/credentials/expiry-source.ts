import { Credential } from '../../kernel/identity/entities.ts'
import type { ExpirySource } from '../http/exports.ts'

const prefix = 'credential '

/** Returns the tokens that end, for the notifications of their users. */
export const tokenExpiry: ExpirySource = async ({ from, after, to, take }, em) => {
  const next = { expiresAt: from, id: { $gt: after.slice(prefix.length) } }
  const where = { revokedAt: null, $or: [next, { expiresAt: { $gt: from, $lte: to } }] }
  const rows = await em.find(Credential, where, { orderBy: { expiresAt: 'asc', id: 'asc' }, limit: take })
  return rows.map(({ id, userId, label, expiresAt, createdAt }) => ({
    object: `${prefix}${id}`,
    name: label === '' ? `a token of ${userId}` : `token ${label} of ${userId}`,
    owner: userId,
    expiresAt: expiresAt ?? 0,
    setAt: createdAt
  }))
}

/** Returns the id of a token that `tokenExpiry` has returned. */
export const tokenIdOf = ({ object }: { readonly object: string }): string => object.slice(prefix.length)
