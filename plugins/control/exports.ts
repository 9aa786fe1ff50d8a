// The certificates of the server, and how endpoints are written, for other plugins.
import { type Certificate, currentCertificate as currentIn } from './certificate.ts'
import { certificateSettings } from './settings.ts'

export { type Carried, carriedFrom, sealCarried } from './carried.ts'
export {
  type Certificate,
  fingerprintOf,
  nextFile,
  ownFile,
  readCertificate,
  saveCertificate
} from './certificate.ts'
export { forgetCluster } from './facts.ts'
export { beginGeneration } from './generations.ts'
export { namedCertificates } from './pinned-certificate.ts'
export { type Served, servedBy } from './served.ts'
export { endpointsIn } from './settings.ts'
export { restoredFile, settleFiles } from './settle.ts'

/**
 * Returns the certificate that a server with these top-level keys would serve; null where none was made yet, or where it
 * is in the store, as with PostgreSQL.
 */
export const currentCertificate = (
  dataDir: string,
  keys: Readonly<Record<string, unknown>>
): Certificate | null => currentIn(dataDir, certificateSettings(keys))
