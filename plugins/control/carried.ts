// What a move of a store takes along: the certificates, which are files beside SQLite, and sealed rows in PostgreSQL.
import { existsSync } from 'node:fs'
import type { EntityManager } from '@mikro-orm/sql'
import { type Certificate, nextFile, ownFile, readCertificate } from './certificate.ts'
import { isShared, namedCertificates } from './pinned-certificate.ts'
import { settleFiles } from './settle.ts'
import {
  keyForSealing,
  type Name,
  putSealed,
  removeSealed,
  sealedIn,
  unsealed
} from './shared-certificate.ts'

export type Carried = ReadonlyMap<Name, Certificate>

const names = ['own', 'next'] as const

/** Returns the certificates of the store of a stopped server. Throws Fault for a key that is not there. */
export async function carriedFrom(dir: string, em: EntityManager): Promise<Carried> {
  if (isShared(em)) {
    const sealed = await sealedIn(em)
    return new Map([...sealed].map(([name, row]) => [name, unsealed(row, dir)]))
  }
  settleFiles(dir, await namedCertificates(em)) // as the next start would
  const files = { own: ownFile(dir), next: nextFile(dir) }
  const present = names.filter(name => existsSync(files[name]))
  return new Map(present.map(name => [name, readCertificate({ certPath: files[name] })]))
}

/** Seals them in a store that is shared, with the key of `dir`; another keeps no rows, but files. */
export async function sealCarried(dir: string, carried: Carried, em: EntityManager): Promise<void> {
  for (const name of names) await removeSealed(name, em)
  if (!isShared(em) || carried.size === 0) return
  const key = keyForSealing(dir, new Map())
  for (const [name, certificate] of carried) await putSealed(name, certificate, key, em)
}
