// The certificate that a server would serve, without its key: for who examines a server that runs, or does not start.
import { placeOf } from '../../kernel/store/sql/database.ts'
import { type Certificate, configuredFiles, currentCertificate } from './certificate.ts'
import { fingerprintIn, keyFor, type Sealed } from './sealed-certificates.ts'
import { certificateSettings } from './settings.ts'

interface Server {
  readonly dir: string // the data directory
  readonly keys: Readonly<Record<string, unknown>> // of the configuration
  /** Returns no rows for a table that is not there. */
  readonly query: <R>(table: string, sql: string) => Promise<readonly R[]>
}

export interface Served extends Pick<Certificate, 'cert' | 'fingerprint'> {
  /** Throws Fault where it is in the store, and the data directory has not the key that opens it. */
  requireKey(): void
}

/** Returns null where none was made yet. */
export async function servedBy({ dir, keys, query }: Server): Promise<Served | null> {
  const settings = certificateSettings(keys)
  const isInStore = typeof placeOf(keys, dir) !== 'string' && !configuredFiles(settings)
  const sealed = isInStore ? await sealedBy(query) : undefined
  const fingerprint = fingerprintIn(sealed)
  if (sealed && fingerprint !== null)
    return { cert: sealed.certificate, fingerprint, requireKey: () => void keyFor(sealed, dir) }
  const current = currentCertificate(dir, settings)
  return current && { ...current, requireKey: () => {} }
}

async function sealedBy(query: Server['query']): Promise<Sealed | undefined> {
  const rows = await query<Sealed>(
    'certificate_sealed',
    `select name, certificate, key_id, sealed_key from certificate_sealed where name = 'own'`
  )
  return rows[0]
}
