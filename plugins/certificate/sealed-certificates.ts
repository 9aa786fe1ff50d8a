// Certificates in a store that servers share: rows in which the private key is sealed, and the certificate is in clear.
// Uses SQL because `cert show` reads the store of a running server without its entities.
import { X509Certificate } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, reasonOf, tlsInvalid } from '../../kernel/base/errors.ts'
import {
  type Certificate,
  checkedCertificate,
  fingerprintOf,
  nextFile,
  ownFile,
  type Pair
} from './certificate.ts'
import { storeKeyUnusable } from './codes.ts'
import { makeStoreKey, readStoreKey, type StoreKey, storeKeyFile } from './store-key.ts'

/** The server's own certificate, and the one that is staged. */
export const names = ['own', 'next'] as const
export type Name = (typeof names)[number]

/** Where they are as files of a data directory. */
export const fileOf: Readonly<Record<Name, (dir: string) => string>> = { own: ownFile, next: nextFile }

export interface Sealed {
  readonly name: Name
  readonly certificate: string // PEM
  readonly key_id: string // of the key that opens it
  readonly sealed_key: string
}

export async function sealedIn(em: EntityManager): Promise<ReadonlyMap<Name, Sealed>> {
  const rows = await em.execute<Sealed[]>(
    'select name, certificate, key_id, sealed_key from certificate_sealed'
  )
  return new Map(rows.map(row => [row.name, row]))
}

export const fingerprintIn = (row: Sealed | undefined): string | null =>
  row ? fingerprintOf(new X509Certificate(row.certificate)) : null

/** Puts a certificate in its place, whatever is there. */
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
    [name, certificate, storeKey.id, storeKey.seal(key, aboutOf(certificate))],
    'run'
  )
}

export async function removeSealed(name: Name, em: EntityManager): Promise<void> {
  await em.execute('delete from certificate_sealed where name = ?', [name], 'run')
}

/** Puts the staged certificate in the place of the present one. */
export async function moveToOwn(em: EntityManager): Promise<void> {
  await removeSealed('own', em)
  await em.execute(`update certificate_sealed set name = 'own' where name = 'next'`, [], 'run')
}

/** What a sealed key belongs to: with another certificate, or another chain, it does not open. */
const aboutOf = (certificate: string): string => `sluice certificate\n${certificate}`

/** Returns the key of the data directory, and makes one where nothing is sealed yet. */
export function keyForSealing(dir: string, sealed: ReadonlyMap<Name, Sealed>): StoreKey {
  const [first] = sealed.values()
  return first ? keyFor(first, dir) : (readStoreKey(dir) ?? makeStoreKey(dir))
}

export function unsealed(row: Sealed, dir: string): Certificate {
  const key = keyFor(row, dir).open(row.sealed_key, aboutOf(row.certificate))
  if (key === null)
    throw new Fault(
      tlsInvalid,
      `the certificate in the store does not open, and ${storeKeyFile(dir)} is its key: somebody has changed it; ` +
        `restore the database from a dump. ${otherwise}`
    )
  try {
    return checkedCertificate({ cert: row.certificate, key })
  } catch (cause) {
    throw new Fault(tlsInvalid, `the certificate in the store cannot be used: ${reasonOf(cause)}`, { cause })
  }
}

/** Returns the key that opens it. Throws Fault with what is to be copied. */
export function keyFor({ key_id: id }: Sealed, dir: string): StoreKey {
  const file = storeKeyFile(dir)
  const key = readStoreKey(dir)
  if (key?.id === id) return key
  const why = key
    ? `${file} is the key ${key.id}, of another store: that of this one is ${id}. Replace it with`
    : `${file} is missing, which opens the certificate of this store. Copy it from`
  throw new Fault(
    storeKeyUnusable,
    `${why} store.key of the data directory of a server that runs on this store, with mode 0600. ${otherwise}`
  )
}

const otherwise =
  'If no server has that file any more: stop all, and run sluice cert activate --force, after which all clients must ' +
  'be enrolled again'
