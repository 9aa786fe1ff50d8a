import type { JournalEntry } from '../rules/exports.ts'
import type { Envelope } from './entities.ts'
import type { RateLimit } from './limits.ts'

/** Returns the journal entry for a change of an envelope; null: no envelope. */
export const envelopeJournalEntry = (
  { clientId, ownerId: owner }: Pick<Envelope, 'clientId' | 'ownerId'>,
  from: RateLimit | null,
  to: RateLimit | null
): JournalEntry => ({
  about: { clientId, owner },
  kind: 'limit',
  from,
  to,
  cause: 'request',
  details: { of: 'owner' }
})
