// Moves the certificates with the store: from files beside SQLite into PostgreSQL, and back.
import { existsSync } from 'node:fs'
import { Fault } from '../../../kernel/base/errors.ts'
import {
  type CertificateSet,
  certificateFile,
  readCertificate,
  saveCertificate
} from '../../certificate/exports.ts'
import { targetNotEmpty } from '../codes.ts'

/** Throws Fault if the directory has other certificates under these names. */
export function requireNoOthers(dir: string, certificates: CertificateSet): void {
  for (const [name, { fingerprint }] of certificates) {
    const certPath = certificateFile(name, dir)
    if (existsSync(certPath) && readCertificate({ certPath }).fingerprint !== fingerprint)
      throw new Fault(
        targetNotEmpty,
        `--to: ${certPath} is not the certificate of the store: rename it, or remove it if you no longer need it`
      )
  }
}

/** Writes the certificates into the data directory of a store of SQLite. */
export function writeFiles(dir: string, certificates: CertificateSet): void {
  for (const [name, certificate] of certificates) saveCertificate(certificateFile(name, dir), certificate)
}
