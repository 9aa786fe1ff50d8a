// The certificates of servers that share a store: in the store, sealed by the key in the data directory of each.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Certificate, checkedCertificate, ownFile, type Pair, readCertificate } from './certificate.ts'
import { namedCertificates, setStoreValue } from './pinned-certificate.ts'
import {
  fileOf,
  fingerprintIn,
  keyForSealing,
  moveToOwn,
  type Name,
  names,
  putSealed,
  removeSealed,
  sealedIn,
  unsealed
} from './sealed-certificates.ts'
import { isOf, type Named } from './settle-files.ts'
import { storeKeyFile } from './store-key.ts'

export interface SealedStoreOptions extends Pick<Kernel, 'store' | 'log'> {
  readonly dir: string // the data directory
}

export class SealedStore {
  readonly #dir: string
  readonly #store: SealedStoreOptions['store']
  readonly #log: SealedStoreOptions['log']

  constructor({ dir, store, log }: SealedStoreOptions) {
    this.#dir = dir
    this.#store = store
    this.#log = log
  }

  async settle(named: Named): Promise<void> {
    await this.#takeOver(named)
    const sealed = await this.#store.read(sealedIn)
    const [own, next] = names.map(name => fingerprintIn(sealed.get(name)))
    if (next === null || next === named.next) return
    const isActivated = next === named.leaf && own !== named.leaf
    await this.#store.change(em => (isActivated ? moveToOwn(em) : removeSealed('next', em)))
  }

  async own(names: readonly string[]): Promise<Certificate> {
    const { sealed, leaf } = await this.#store.read(stateIn)
    const present = sealed.get('own')
    if (present) return unsealed(present, this.#dir)
    if (leaf !== null) throw absent(leaf)
    await this.#make(names)
    return this.own(names)
  }

  async next(): Promise<Certificate | null> {
    const row = (await this.#store.read(sealedIn)).get('next')
    return row ? unsealed(row, this.#dir) : null
  }

  async save(name: Name, made: Pair): Promise<Certificate> {
    const certificate = checkedCertificate(made)
    const sealed = await this.#store.read(sealedIn)
    const key = keyForSealing(this.#dir, sealed)
    await this.#store.change(em => putSealed(name, certificate, key, em))
    if (sealed.size === 0) this.#hasSealed([])
    return certificate
  }

  async removeNext(): Promise<void> {
    await this.#store.change(em => removeSealed('next', em))
  }

  /** The first server of a store makes the certificate. Where several start at once, the others do not have its key. */
  async #make(names: readonly string[]): Promise<void> {
    const file = ownFile(this.#dir)
    const isThere = existsSync(file) // of an earlier build
    const made = isThere
      ? readCertificate({ certPath: file })
      : checkedCertificate(await newCertificate(names))
    const key = keyForSealing(this.#dir, await this.#store.read(sealedIn))
    const isFirst = await this.#store.change(async em => {
      const { sealed, leaf } = await stateIn(em)
      if (sealed.has('own') || leaf !== null) return false
      await putSealed('own', made, key, em)
      await setStoreValue('leaf', made.fingerprint, em)
      return true
    })
    if (isFirst) this.#hasSealed(isThere ? ['own'] : [])
  }

  /** Seals what an earlier build has left in files. */
  async #takeOver({ leaf, next }: Named): Promise<void> {
    const sealed = await this.#store.read(sealedIn)
    const wanted = { own: leaf, next }
    const found = names.flatMap(name => {
      const [file, fingerprint] = [fileOf[name](this.#dir), wanted[name]]
      if (sealed.has(name) || fingerprint === null || !isOf(file, fingerprint)) return []
      return [{ name, certificate: readCertificate({ certPath: file }) }]
    })
    if (found.length === 0) return
    const key = keyForSealing(this.#dir, sealed)
    await this.#store.change(async em => {
      for (const { name, certificate } of found) await putSealed(name, certificate, key, em)
    })
    this.#hasSealed(found.map(({ name }) => name))
  }

  /** Removes the files, unless they are those of a store of SQLite beside them, which may be used again. */
  #hasSealed(taken: readonly Name[]): void {
    if (!existsSync(join(this.#dir, 'sluice.db')))
      for (const name of taken) rmSync(fileOf[name](this.#dir), { force: true })
    const file = storeKeyFile(this.#dir)
    this.#log.info(
      'certificate.sealed',
      `the certificate is in the store, and ${file} opens it: save that file`,
      {
        file
      }
    )
  }
}

const newCertificate = async (names: readonly string[]): Promise<Pair> =>
  (await import('./make-certificate.ts')).makeCertificate(names)

const stateIn = async (em: EntityManager) => ({
  sealed: await sealedIn(em),
  ...(await namedCertificates(em))
})

const absent = (leaf: string): Fault =>
  new Fault(
    tlsInvalid,
    `the servers of this store have the certificate ${leaf}, whose key is not in the store: configure it ` +
      '(tls_cert_path and tls_key_path), or start first the server whose data directory has it. If nobody has it any ' +
      'more: stop all, and run sluice cert activate --force, after which all clients must be enrolled again'
  )
