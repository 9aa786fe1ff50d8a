// Where the server's own certificates are: in files of its data directory, or with PostgreSQL sealed in the store, so that
// all servers of the store have the same.
import { existsSync, rmSync } from 'node:fs'
import type { ControlOptions } from '../../kernel/control/host.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import {
  type Certificate,
  type CertificateSettings,
  configuredFiles,
  fileFor,
  type Name,
  type NamedCertificates,
  nextFile,
  openCertificate,
  type Pair,
  readCertificate,
  saveCertificate,
  settleFiles
} from './certificate.ts'
import { namedCertificates } from './pinned-certificate.ts'
import { SealedStore, type SealedStoreOptions } from './sealed-store.ts'

export interface CertificateStore {
  /** Finishes an interrupted change: puts the certificates that the store names in their places. */
  settle(named: NamedCertificates): Promise<void>
  /** Returns the server's own certificate. Makes one for these names if there is none. */
  own(names: readonly string[]): Promise<Certificate>
  /** Returns the staged certificate; null if there is none. */
  next(): Promise<Certificate | null>
  /** Replaces the certificate. Throws if the key does not belong to it. */
  save(name: Name, made: Pair): Promise<Certificate>
  removeNext(): Promise<void>
}

export async function openCertificateStore(options: SealedStoreOptions): Promise<CertificateStore> {
  const isInStore = await options.store.read(async em => mayBeShared(em))
  return isInStore ? new SealedStore(options) : openFileStore(options.dir)
}

/** Returns the certificate of a server that starts, after an interrupted change is finished. */
export async function openServerCertificate(
  settings: CertificateSettings,
  { dataDir: dir, store, log }: Pick<ControlOptions, 'dataDir' | 'store' | 'log'>
): Promise<Certificate> {
  const certificates = await openCertificateStore({ dir, store, log })
  await certificates.settle(await store.read(namedCertificates))
  return servedCertificate(certificates, settings)
}

/** Returns the operator's certificate if one is configured, else the server's own. */
export async function servedCertificate(
  certificates: CertificateStore,
  settings: CertificateSettings
): Promise<Certificate> {
  const configured = configuredFiles(settings)
  return configured ? readCertificate(configured) : certificates.own(settings.names ?? [])
}

const openFileStore = (dir: string): CertificateStore => ({
  settle: async named => settleFiles(dir, named),
  own: names => openCertificate(dir, { names }),
  async next() {
    const certPath = nextFile(dir)
    return existsSync(certPath) ? readCertificate({ certPath }) : null
  },
  save: async (name, made) => saveCertificate(fileFor(name, dir), made),
  removeNext: async () => rmSync(nextFile(dir), { force: true })
})
