// The certificate of the server and the endpoints that it covers, for other plugins.
import { type Certificate, currentCertificate as currentIn } from './certificate.ts'
import { certificateSettings } from './settings.ts'

export {
  type Certificate,
  certificateFile,
  checkedCertificate,
  fingerprintOf,
  readCertificate,
  restoredFile,
  saveCertificate,
  settleFiles
} from './certificate.ts'
export { coversHost } from './certificate-names.ts'
export { namedCertificates, requirePinned } from './certificate-pins.ts'
export { findServedCertificate, type ServedCertificate } from './certificate-status.ts'
export { openServerCertificate } from './certificate-store.ts'
export type { LiveRotation } from './live-rotation.ts'
export { type CertificateSet, readCertificates, replaceSealed } from './sealed-certificates.ts'
export { endpointForm, endpointsIn, isEndpoint, type keys, settingsIn } from './settings.ts'
export { pinnedSlot } from './slots.ts'
export { makeStoreKey, readStoreKey, type StoreKey, storeKeyFile, storeKeyUnusable } from './store-key.ts'

/**
 * Returns the certificate that a server with these top-level keys would serve; null if none was made yet, or if it is in
 * the store, as with PostgreSQL.
 */
export const currentCertificate = (
  dataDir: string,
  keys: Readonly<Record<string, unknown>>
): Certificate | null => currentIn(dataDir, certificateSettings(keys))
