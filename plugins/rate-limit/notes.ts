import type { JournalEntry } from '../rules/exports.ts'
import type { Envelope } from './entities.ts'
import type { RateLimit } from './limits.ts'

/** The note of a change of an envelope; null: there is none. */
export const noteOf = (
  { clientId, ownerId: owner }: Pick<Envelope, 'clientId' | 'ownerId'>,
  from: RateLimit | null,
  to: RateLimit | null
): JournalEntry => ({
  about: { clientId, owner },
  kind: 'limit',
  ...{ from, to },
  cause: 'request',
  details: { of: 'owner' }
})
