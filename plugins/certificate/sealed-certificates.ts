// Certificates in a store that servers share: rows with the certificate in clear and its private key sealed.
// Uses SQL because `cert show` reads the store of a running server without its entities.
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, reasonOf, tlsInvalid } from '../../kernel/base/errors.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import {
  type Certificate,
  certificateFile,
  checkedCertificate,
  fingerprintOf,
  type Name,
  names,
  type Pair,
  readCertificate,
  settleFiles
} from './certificate.ts'
import { namedCertificates } from './certificate-pins.ts'
import { makeStoreKey, readStoreKey, type StoreKey, storeKeyFile, storeKeyUnusable } from './store-key.ts'

export interface SealedCertificate {
  readonly name: Name
  readonly certificate: string // PEM
  readonly key_id: string // of the store key that opens it
  readonly sealed_key: string
}

/** The certificates of a store that moves to another database. */
export type CertificateSet = ReadonlyMap<Name, Certificate>

export async function sealedIn(em: EntityManager): Promise<ReadonlyMap<Name, SealedCertificate>> {
  const rows = await em.execute<SealedCertificate[]>(
    'select name, certificate, key_id, sealed_key from certificate_sealed'
  )
  return new Map(rows.map(row => [row.name, row]))
}

export const sealedFingerprint = (row: SealedCertificate | undefined): string | null =>
  row ? fingerprintOf(new X509Certificate(row.certificate)) : null

/** Seals a certificate under the name, and replaces the one that is there. */
export async function putSealed(
  name: Name,
  { cert, key }: Pair,
  storeKey: StoreKey,
  em: EntityManager
): Promise<void> {
  const certificate = `${cert.trim()}\n`
  await removeSealed(name, em)
  await em.execute(
    'insert into certificate_sealed (name, certificate, key_id, sealed_key) values (?, ?, ?, ?)',
    [name, certificate, storeKey.id, storeKey.seal(key, sealContext(certificate))],
    'run'
  )
}

export async function removeSealed(name: Name, em: EntityManager): Promise<void> {
  await em.execute('delete from certificate_sealed where name = ?', [name], 'run')
}

/** Replaces the server's own certificate with the staged one. */
export async function activateSealed(em: EntityManager): Promise<void> {
  await removeSealed('own', em)
  await em.execute(`update certificate_sealed set name = 'own' where name = 'next'`, [], 'run')
}

/** Binds a sealed key to its certificate and chain: with another one it does not open. */
const sealContext = (certificate: string): string => `sluice certificate\n${certificate}`

/** Returns the key of the data directory; makes one if nothing is sealed yet. */
export function keyForSealing(dir: string, sealed: ReadonlyMap<Name, SealedCertificate>): StoreKey {
  const [first] = sealed.values()
  return first ? keyThatOpens(first, dir) : (readStoreKey(dir) ?? makeStoreKey(dir))
}

/** Throws Fault if the key of the data directory does not open the certificate. */
export function unseal(row: SealedCertificate, dir: string): Certificate {
  const key = keyThatOpens(row, dir).open(row.sealed_key, sealContext(row.certificate))
  if (key === null)
    throw new Fault(
      tlsInvalid,
      `the certificate in the store was changed: ${storeKeyFile(dir)} is its key and does not open it; ` +
        `restore the database from a dump. ${lastResort}`
    )
  try {
    return checkedCertificate({ cert: row.certificate, key })
  } catch (cause) {
    throw new Fault(tlsInvalid, `the certificate in the store is not usable: ${reasonOf(cause)}`, { cause })
  }
}

/** Returns the store key for a certificate. Throws Fault that says which file to copy. */
export function keyThatOpens({ key_id: id }: Pick<SealedCertificate, 'key_id'>, dir: string): StoreKey {
  const file = storeKeyFile(dir)
  const key = readStoreKey(dir)
  if (key?.id === id) return key
  const why = key
    ? `${file} is the key ${key.id} of another store; this one needs ${id}. Replace it with`
    : `${file} is missing: it opens the certificate of this store. Copy it from`
  throw new Fault(
    storeKeyUnusable,
    `${why} store.key in the data directory of a server that runs on this store, with mode 0600. ${lastResort}`
  )
}

const lastResort =
  'If no server has that file any more, stop all servers, run sluice cert activate --force, and enroll all clients again'

/** Returns the certificates of a stopped server, to move them with its store. Throws Fault if a key is missing. */
export async function readCertificates(dir: string, em: EntityManager): Promise<CertificateSet> {
  if (mayBeShared(em)) {
    const sealed = await sealedIn(em)
    return new Map([...sealed].map(([name, row]) => [name, unseal(row, dir)]))
  }
  settleFiles(dir, await namedCertificates(em)) // as the next start would
  const found = names.filter(name => existsSync(certificateFile(name, dir)))
  return new Map(found.map(name => [name, readCertificate({ certPath: certificateFile(name, dir) })]))
}

/** Seals the certificates in a shared store, with the key of `dir`. A store in a file has no rows of them. */
export async function replaceSealed(
  dir: string,
  certificates: CertificateSet,
  em: EntityManager
): Promise<void> {
  for (const name of names) await removeSealed(name, em)
  if (!mayBeShared(em) || certificates.size === 0) return
  const key = keyForSealing(dir, new Map())
  for (const [name, certificate] of certificates) await putSealed(name, certificate, key, em)
}
