// Where a server keeps its own certificates: in files of its data directory, or, with PostgreSQL, in the store, so that
// all servers of the store have the same.
import { existsSync, rmSync } from 'node:fs'
import type { ControlOptions } from '../../kernel/control/host.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import {
  type Certificate,
  type CertificateSettings,
  configuredFiles,
  nextFile,
  openCertificate,
  ownFile,
  type Pair,
  readCertificate,
  saveCertificate
} from './certificate.ts'
import { namedCertificates } from './pinned-certificate.ts'
import type { Name } from './sealed-certificates.ts'
import { SealedStore, type SealedStoreOptions } from './sealed-store.ts'
import { type Named, settleFiles } from './settle-files.ts'

export interface CertificateStore {
  /** Puts the certificates that the store names in their places, as far as they are there, and removes other drafts. */
  settle(named: Named): Promise<void>
  /** Returns the server's own certificate, and makes one for these names where there is none. */
  own(names: readonly string[]): Promise<Certificate>
  next(): Promise<Certificate | null>
  save(name: Name, made: Pair): Promise<Certificate>
  removeNext(): Promise<void>
}

export async function openCertificateStore(options: SealedStoreOptions): Promise<CertificateStore> {
  const isInStore = await options.store.read(async em => mayBeShared(em))
  return isInStore ? new SealedStore(options) : inFiles(options.dir)
}

/** Opens the certificate that this server serves, after finishing an interrupted change. Makes one where there is none. */
export async function openServerCertificate(
  settings: CertificateSettings,
  { dataDir: dir, store, log }: Pick<ControlOptions, 'dataDir' | 'store' | 'log'>
): Promise<Certificate> {
  const certificates = await openCertificateStore({ dir, store, log })
  await certificates.settle(await store.read(namedCertificates))
  return servedCertificate(certificates, settings)
}

/** Returns the certificate to be served: the operator's, or the server's own. */
export async function servedCertificate(
  keep: CertificateStore,
  settings: CertificateSettings
): Promise<Certificate> {
  const configured = configuredFiles(settings)
  return configured ? readCertificate(configured) : keep.own(settings.names ?? [])
}

const inFiles = (dir: string): CertificateStore => ({
  settle: async named => settleFiles(dir, named),
  own: names => openCertificate(dir, { names }),
  async next() {
    const certPath = nextFile(dir)
    return existsSync(certPath) ? readCertificate({ certPath }) : null
  },
  save: async (name, made) => saveCertificate(name === 'own' ? ownFile(dir) : nextFile(dir), made),
  removeNext: async () => rmSync(nextFile(dir), { force: true })
})
