// The status of the certificate for operators and doctor, without its key. Works while the server runs.
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { openStore } from '../../kernel/store/open.ts'
import { mayBeShared, type Place, readPlace } from '../../kernel/store/sql/database.ts'
import {
  type Certificate,
  type CertificateSettings,
  configuredFiles,
  currentCertificate,
  fingerprintOf
} from './certificate.ts'
import { countEnrolled, storeValue, unawareClients } from './certificate-pins.ts'
import { keyThatOpens, type SealedCertificate, sealedIn } from './sealed-certificates.ts'
import { certificateSettings } from './settings.ts'

/** Returns the facts of a PEM certificate that the API and `cert show` report. */
export function describeCertificate(pem: string) {
  const certificate = new X509Certificate(pem)
  const { subject, subjectAltName, validFromDate, validToDate } = certificate
  return {
    fingerprint: fingerprintOf(certificate),
    subject,
    names: (subjectAltName ?? '').split(', ').filter(name => name !== ''),
    not_before: timestamp(validFromDate.getTime()),
    not_after: timestamp(validToDate.getTime())
  }
}

export interface ServedCertificate extends Pick<Certificate, 'cert' | 'fingerprint'> {
  /** Throws Fault if the certificate is in the store and the data directory lacks the key that opens it. */
  requireKey(): void
}

/** Returns the certificate that a server would serve: the operator's, the sealed one of its store, or that in its file. */
function servedIn(
  dir: string,
  settings: CertificateSettings,
  sealed: SealedCertificate | undefined
): ServedCertificate | null {
  if (sealed && !configuredFiles(settings)) {
    const { certificate: cert } = sealed
    const fingerprint = fingerprintOf(new X509Certificate(cert))
    return { cert, fingerprint, requireKey: () => void keyThatOpens(sealed, dir) }
  }
  const current = currentCertificate(dir, settings)
  return current && { ...current, requireKey: () => {} }
}

interface Server {
  readonly dir: string // the data directory
  readonly keys: Readonly<Record<string, unknown>> // of the configuration
  /** Returns no rows if the table does not exist. */
  readonly query: <R>(table: string, sql: string) => Promise<readonly R[]>
}

/** Returns the certificate that a server would serve; null if none was made yet. */
export async function findServedCertificate({ dir, keys, query }: Server): Promise<ServedCertificate | null> {
  const sql = `select name, certificate, key_id, sealed_key from certificate_sealed where name = 'own'`
  const isShared = typeof readPlace(keys, dir) !== 'string'
  const [sealed] = isShared ? await query<SealedCertificate>('certificate_sealed', sql) : []
  return servedIn(dir, certificateSettings(keys), sealed)
}

/** Returns the certificate in use, and the fingerprints that agents pin now and next. */
export async function showCertificate(
  dir: string,
  settings: CertificateSettings,
  place: Place = join(dir, 'sluice.db')
) {
  const { own, ...pins } = await readPins(place)
  const served = servedIn(dir, settings, own)
  if (!served) throw new Fault(wrongUsage, `there is no certificate in ${dir} yet; the first start makes one`)
  const { fingerprint, ...facts } = describeCertificate(served.cert)
  return { fingerprint, source: configuredFiles(settings) ? 'given' : 'self-made', ...facts, ...pins }
}

async function readPins(place: Place) {
  if (typeof place === 'string' && !existsSync(place))
    return { own: undefined, pinned: null, enrolled_clients: 0, next: null, waiting_for: [] }
  const store = await openStore(place, [])
  try {
    return await store.read(async em => {
      const next = await storeValue('next_leaf', em)
      return {
        own: mayBeShared(em) ? await readOwn(em) : undefined,
        pinned: await storeValue('leaf', em),
        enrolled_clients: await countEnrolled(em),
        next,
        waiting_for: next === null ? [] : await unawareClients(next, em)
      }
    })
  } finally {
    await store.close()
  }
}

/** Returns the sealed certificate; undefined if the store has none or an older schema. */
async function readOwn(em: EntityManager): Promise<SealedCertificate | undefined> {
  const schema = em.getPlatform().getSchemaHelper()
  const hasTable = await schema?.tableExists(em.getConnection(), 'certificate_sealed', undefined)
  return hasTable ? (await sealedIn(em)).get('own') : undefined
}
