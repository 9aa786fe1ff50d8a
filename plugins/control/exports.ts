// The server certificate on disk, for other plugins.
import type { Certificate } from './certificate-file.ts'
import { certificateSettings } from './settings.ts'
import { currentCertificate as currentIn } from './show.ts'

export { nextFile, ownFile } from './certificate.ts'
export { type Certificate, fingerprintOf } from './certificate-file.ts'

/** Returns the certificate that a server with these top-level keys would serve; null where none was made yet. */
export const currentCertificate = (
  dataDir: string,
  keys: Readonly<Record<string, unknown>>
): Certificate | null => currentIn(dataDir, certificateSettings(keys))
