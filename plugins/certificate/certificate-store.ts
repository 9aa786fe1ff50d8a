// The server's own certificates: in files of its data directory, or with PostgreSQL sealed in the store, so that all
// servers of the store have the same.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { ControlOptions } from '../../kernel/control/host.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import {
  type Certificate,
  type CertificateSettings,
  certificateFile,
  checkedCertificate,
  configuredFiles,
  hasCertificate,
  type Name,
  type NamedCertificates,
  names,
  openCertificate,
  type Pair,
  readCertificate,
  saveCertificate,
  settleFiles
} from './certificate.ts'
import { namedCertificates, setStoreValue } from './certificate-pins.ts'
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

export interface CertificateStore {
  /** Finishes an interrupted change: puts the certificates that the store names in their places. */
  settle(named: NamedCertificates): Promise<void>
  /** Returns the server's own certificate. Makes one for these names if there is none. */
  own(names: readonly string[]): Promise<Certificate>
  /** Returns the staged certificate; null if there is none. */
  next(): Promise<Certificate | null>
  /** Replaces the certificate. Throws if the key does not belong to it. */
  save(name: Name, made: Pair): Promise<Certificate>
  removeNext(): Promise<void>
}

interface Options extends Pick<Kernel, 'store' | 'log'> {
  readonly dir: string // the data directory
}

export async function openCertificateStore(options: Options): Promise<CertificateStore> {
  const isInStore = await options.store.read(async em => mayBeShared(em))
  return isInStore ? new SealedStore(options) : openFileStore(options.dir)
}

/** Returns the certificate of a server that starts, after an interrupted change is finished. */
export async function openServerCertificate(
  settings: CertificateSettings,
  { dataDir: dir, store, log }: Pick<ControlOptions, 'dataDir' | 'store' | 'log'>
): Promise<Certificate> {
  const certificates = await openCertificateStore({ dir, store, log })
  await certificates.settle(await store.read(namedCertificates))
  return servedCertificate(certificates, settings)
}

/** Returns the operator's certificate if one is configured, else the server's own. */
export async function servedCertificate(
  certificates: CertificateStore,
  settings: CertificateSettings
): Promise<Certificate> {
  const configured = configuredFiles(settings)
  return configured ? readCertificate(configured) : certificates.own(settings.names ?? [])
}

function openFileStore(dir: string): CertificateStore {
  const staged = certificateFile('next', dir)
  return {
    settle: async named => settleFiles(dir, named),
    own: names => openCertificate(dir, { names }),
    next: async () => (existsSync(staged) ? readCertificate({ certPath: staged }) : null),
    save: async (name, made) => saveCertificate(certificateFile(name, dir), made),
    removeNext: async () => rmSync(staged, { force: true })
  }
}

class SealedStore implements CertificateStore {
  readonly #dir: string
  readonly #store: Options['store']
  readonly #log: Options['log']

  constructor({ dir, store, log }: Options) {
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
    const certPath = certificateFile('own', this.#dir)
    const isInFile = existsSync(certPath) // of an earlier build
    const made = isInFile
      ? readCertificate({ certPath })
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
    const found = names.filter(
      name => !sealed.has(name) && hasCertificate(certificateFile(name, this.#dir), wanted[name])
    )
    if (found.length === 0) return
    const key = keyForSealing(this.#dir, sealed)
    await this.#store.change(async em => {
      for (const name of found)
        await putSealed(name, readCertificate({ certPath: certificateFile(name, this.#dir) }), key, em)
    })
    this.#removeFiles(found)
    this.#logSealed()
  }

  /** Removes sealed files, unless a SQLite store beside them may be used again. */
  #removeFiles(sealed: readonly Name[]): void {
    if (existsSync(join(this.#dir, 'sluice.db'))) return
    for (const name of sealed) rmSync(certificateFile(name, this.#dir), { force: true })
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
