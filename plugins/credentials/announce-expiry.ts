import { timestamp } from '../../kernel/base/clock.ts'
import { StoreValue } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { expiryNotices } from '../http/exports.ts'
import { tokenExpiry, tokenIdOf } from './expiry-source.ts'

const name = 'credentials.expiry_announced' // until this time

type Services = Pick<Kernel, 'store' | 'clock' | 'log'>

/**
 * Logs `credential.expires_soon` for each token that reached 14 or 3 days before its expiry since the last call. Logs an
 * error instead of rejecting: the next call covers its time, too.
 */
export const announceExpiry = (services: Services): Promise<void> =>
  announce(services).catch(error => services.log.error('credential.expiry_not_announced', String(error)))

async function announce({ store, clock, log }: Services): Promise<void> {
  const now = clock.now()
  const since = await store.read(async em => Number((await em.findOne(StoreValue, { name }))?.value ?? 0))
  for await (const page of expiryNotices(tokenExpiry, { since, now, read: store.read }))
    for (const token of page) {
      const at = timestamp(token.expiresAt)
      const message = `a token of ${token.owner} expires at ${at}; rotate it, or issue another one`
      const fields = { user: token.owner, credential: tokenIdOf(token), expires_at: at }
      log.warn('credential.expires_soon', message, fields)
    }
  await store.change(em => em.upsert(StoreValue, { name, value: String(now) }))
}
