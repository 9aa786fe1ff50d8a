// The certificates of servers that share a store: in the store, sealed with the key in the data directory of each.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import {
  type Certificate,
  checkedCertificate,
  fileFor,
  hasCertificate,
  type Name,
  type NamedCertificates,
  names,
  ownFile,
  type Pair,
  readCertificate
} from './certificate.ts'
import { namedCertificates, setStoreValue } from './pinned-certificate.ts'
import {
  activateSealed,
  keyForSealing,
  putSealed,
  removeSealed,
  sealedFingerprint,
  sealedIn,
  unseal
} from './sealed-certificates.ts'
import { storeKeyFile } from './store-key.ts'

export interface SealedStoreOptions extends Pick<Kernel, 'store' | 'log'> {
  readonly dir: string // the data directory
}

/** Implements CertificateStore. */
export class SealedStore {
  readonly #dir: string
  readonly #store: SealedStoreOptions['store']
  readonly #log: SealedStoreOptions['log']

  constructor({ dir, store, log }: SealedStoreOptions) {
    this.#dir = dir
    this.#store = store
    this.#log = log
  }

  async settle(named: NamedCertificates): Promise<void> {
    await this.#sealFiles(named)
    const sealed = await this.#store.read(sealedIn)
    const own = sealedFingerprint(sealed.get('own'))
    const next = sealedFingerprint(sealed.get('next'))
    if (next === null || next === named.next) return
    const isActivated = next === named.leaf && own !== named.leaf
    await this.#store.change(em => (isActivated ? activateSealed(em) : removeSealed('next', em)))
  }

  async own(hosts: readonly string[]): Promise<Certificate> {
    const { sealed, leaf } = await this.#store.read(stateIn)
    const present = sealed.get('own')
    if (present) return unseal(present, this.#dir)
    if (leaf !== null) throw missingCertificate(leaf)
    await this.#make(hosts)
    return this.own(hosts)
  }

  async next(): Promise<Certificate | null> {
    const row = (await this.#store.read(sealedIn)).get('next')
    return row ? unseal(row, this.#dir) : null
  }

  async save(name: Name, made: Pair): Promise<Certificate> {
    const certificate = checkedCertificate(made)
    const sealed = await this.#store.read(sealedIn)
    const key = keyForSealing(this.#dir, sealed)
    await this.#store.change(em => putSealed(name, certificate, key, em))
    if (sealed.size === 0) this.#logSealed()
    return certificate
  }

  async removeNext(): Promise<void> {
    await this.#store.change(em => removeSealed('next', em))
  }

  /** The first server of a store makes the certificate. If several start at once, the others lack its key. */
  async #make(hosts: readonly string[]): Promise<void> {
    const file = ownFile(this.#dir)
    const isInFile = existsSync(file) // of an earlier build
    const made = isInFile
      ? readCertificate({ certPath: file })
      : checkedCertificate(await (await import('./make-certificate.ts')).makeCertificate(hosts))
    const key = keyForSealing(this.#dir, await this.#store.read(sealedIn))
    const isFirst = await this.#store.change(async em => {
      const { sealed, leaf } = await stateIn(em)
      if (sealed.has('own') || leaf !== null) return false
      await putSealed('own', made, key, em)
      await setStoreValue('leaf', made.fingerprint, em)
      return true
    })
    if (!isFirst) return
    if (isInFile) this.#removeFiles(['own'])
    this.#logSealed()
  }

  /** Seals the named certificates that an earlier build left in files. */
  async #sealFiles({ leaf, next }: NamedCertificates): Promise<void> {
    const sealed = await this.#store.read(sealedIn)
    const wanted = { own: leaf, next }
    const found = names.filter(name => {
      const fingerprint = wanted[name]
      return (
        !sealed.has(name) && fingerprint !== null && hasCertificate(fileFor(name, this.#dir), fingerprint)
      )
    })
    if (found.length === 0) return
    const key = keyForSealing(this.#dir, sealed)
    await this.#store.change(async em => {
      for (const name of found)
        await putSealed(name, readCertificate({ certPath: fileFor(name, this.#dir) }), key, em)
    })
    this.#removeFiles(found)
    this.#logSealed()
  }

  /** Removes sealed files, unless a SQLite store beside them may be used again. */
  #removeFiles(sealed: readonly Name[]): void {
    if (existsSync(join(this.#dir, 'sluice.db'))) return
    for (const name of sealed) rmSync(fileFor(name, this.#dir), { force: true })
  }

  #logSealed(): void {
    const file = storeKeyFile(this.#dir)
    this.#log.info(
      'certificate.sealed',
      `the certificate is in the store, and ${file} opens it: save that file`,
      { file }
    )
  }
}

const stateIn = async (em: EntityManager) => ({
  ...(await namedCertificates(em)),
  sealed: await sealedIn(em)
})

const missingCertificate = (leaf: string): Fault =>
  new Fault(
    tlsInvalid,
    `the servers of this store have the certificate ${leaf}, but its key is not in the store: configure it ` +
      '(tls_cert_path and tls_key_path), or first start the server that has it in its data directory. If it is lost, ' +
      'stop all servers, run sluice cert activate --force, and enroll all clients again'
  )
