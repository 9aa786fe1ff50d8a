// Moves the certificates with the store: from files beside SQLite into PostgreSQL, and back.
import { existsSync } from 'node:fs'
import { Fault } from '../../../kernel/base/errors.ts'
import {
  type CertificateSet,
  nextFile,
  ownFile,
  readCertificate,
  saveCertificate
} from '../../certificate/exports.ts'
import { targetNotEmpty } from '../codes.ts'

const filesIn = (dir: string) => ({ own: ownFile(dir), next: nextFile(dir) })

/** Throws Fault if the directory has other certificates under these names. */
export function requireNoOthers(dir: string, certificates: CertificateSet): void {
  const files = filesIn(dir)
  for (const [name, { fingerprint }] of certificates) {
    const certPath = files[name]
    if (existsSync(certPath) && readCertificate({ certPath }).fingerprint !== fingerprint)
      throw new Fault(
        targetNotEmpty,
        `--to: ${certPath} is not the certificate of the store: rename it, or remove it if you no longer need it`
      )
  }
}

/** Writes the certificates into the data directory of a store of SQLite. */
export function writeFiles(dir: string, certificates: CertificateSet): void {
  const files = filesIn(dir)
  for (const [name, certificate] of certificates) saveCertificate(files[name], certificate)
}
