// The certificate of the server and the endpoints that it covers, for other plugins.
import { type Certificate, currentCertificate as currentIn } from './certificate.ts'
import { certificateSettings } from './settings.ts'

export {
  type Certificate,
  fingerprintOf,
  nextFile,
  ownFile,
  readCertificate,
  saveCertificate
} from './certificate.ts'
export { openServerCertificate } from './certificate-store.ts'
export { type Carried, carriedFrom, sealCarried } from './certificate-transfer.ts'
export { namedCertificates, requirePinned } from './pinned-certificate.ts'
export { type Served, servedBy } from './served-certificate.ts'
export { endpointsIn, type keys, settingsIn } from './settings.ts'
export { restoredFile, settleFiles } from './settle-files.ts'

/**
 * Returns the certificate that a server with these top-level keys would serve; null where none was made yet, or where it
 * is in the store, as with PostgreSQL.
 */
export const currentCertificate = (
  dataDir: string,
  keys: Readonly<Record<string, unknown>>
): Certificate | null => currentIn(dataDir, certificateSettings(keys))
