// What a move of a store takes along: the certificates, which are files beside SQLite, and sealed rows in PostgreSQL.
import { existsSync } from 'node:fs'
import type { EntityManager } from '@mikro-orm/sql'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import { type Certificate, readCertificate } from './certificate.ts'
import { namedCertificates } from './pinned-certificate.ts'
import {
  fileOf,
  keyForSealing,
  type Name,
  names,
  putSealed,
  removeSealed,
  sealedIn,
  unsealed
} from './sealed-certificates.ts'
import { settleFiles } from './settle-files.ts'

export type Carried = ReadonlyMap<Name, Certificate>

/** Returns the certificates of the store of a stopped server. Throws Fault for a key that is not there. */
export async function carriedFrom(dir: string, em: EntityManager): Promise<Carried> {
  if (mayBeShared(em)) {
    const sealed = await sealedIn(em)
    return new Map([...sealed].map(([name, row]) => [name, unsealed(row, dir)]))
  }
  settleFiles(dir, await namedCertificates(em)) // as the next start would
  const present = names.filter(name => existsSync(fileOf[name](dir)))
  return new Map(present.map(name => [name, readCertificate({ certPath: fileOf[name](dir) })]))
}

/** Seals them in a store that is shared, with the key of `dir`; another keeps no rows, but files. */
export async function sealCarried(dir: string, carried: Carried, em: EntityManager): Promise<void> {
  for (const name of names) await removeSealed(name, em)
  if (!mayBeShared(em) || carried.size === 0) return
  const key = keyForSealing(dir, new Map())
  for (const [name, certificate] of carried) await putSealed(name, certificate, key, em)
}
