// Changes the certificate while the server is stopped: replaces it, or stages the next one and activates it.
import { existsSync, rmSync } from 'node:fs'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import {
  type Certificate,
  type CertificateFiles,
  type CertificateSettings,
  configuredFiles,
  nextFile,
  openCertificate,
  ownFile,
  readCertificate,
  saveCertificate
} from './certificate.ts'
import {
  countEnrolled,
  setStoreValue,
  storeValue,
  type UnawareClient,
  unawareClients
} from './pinned-certificate.ts'
import { settleFiles } from './settle.ts'

interface Options {
  readonly dir: string // the data directory
  readonly settings: CertificateSettings
  readonly store: Kernel['store']
}

/** A new certificate: self-made for these names, or the operator's own. */
export type Source = { readonly names: readonly string[] } | { readonly from: CertificateFiles }

interface Reissued {
  readonly fingerprint: string
  readonly state: 'current' | 'next'
}

interface Activated {
  readonly fingerprint: string
  readonly lost: readonly UnawareClient[] // clients that do not trust it
  readonly isShadowed: boolean // by a tls_cert_path that names another certificate
}

export class Rotation {
  readonly #options: Options
  readonly #own: string
  readonly #next: string

  constructor(options: Options) {
    this.#options = options
    this.#own = ownFile(options.dir)
    this.#next = nextFile(options.dir)
  }

  async reissue(source: Source, how: 'replace' | 'rotate'): Promise<Reissued> {
    const { settings, store } = this.#options
    const made = 'from' in source ? readCertificate(source.from) : await this.#make(source.names)
    const count = await store.read(countEnrolled)
    if (how === 'rotate') return this.#stage(made)
    if (count > 0)
      throw refused(
        `${count} enrolled clients pin the present certificate; use --rotate to announce the new one first`
      )
    const configured = configuredFiles(settings)
    if (configured)
      throw refused(`tls_cert_path gives the certificate; put the new one at ${configured.certPath}`)
    const { fingerprint } = saveCertificate(this.#own, made)
    rmSync(this.#next, { force: true })
    await this.#pin(fingerprint)
    return { fingerprint, state: 'current' }
  }

  /** Switches to the staged certificate. Without one, 'force' adopts the certificate in use. */
  async activate(how: 'careful' | 'force'): Promise<Activated> {
    const { dir, settings, store } = this.#options
    const fingerprint = await store.read(em => storeValue('next_leaf', em))
    const { fingerprint: present } = await openCertificate(dir, settings)
    if (fingerprint === null) return this.#adopt(present, how)
    const lost = await store.read(em => unawareClients(fingerprint, em))
    if (lost.length > 0 && how === 'careful')
      throw refused(
        `${lost.length} clients do not know the next certificate yet: ${namesOf(lost)}; start the server until ` +
          'they have connected, or use --force and enroll them again'
      )
    this.#requireStaged(fingerprint)
    await this.#pin(fingerprint)
    settleFiles(dir, { leaf: fingerprint, next: null }) // after a crash in between, the next start does it
    const configured = configuredFiles(settings)
    const isShadowed = configured !== null && readCertificate(configured).fingerprint !== fingerprint
    return { fingerprint, lost, isShadowed }
  }

  async #make(names: readonly string[]) {
    const { isSanName, makeCertificate } = await import('./self-signed.ts')
    const wrong = names.find(name => !isSanName(name.toLowerCase()))
    if (wrong !== undefined)
      throw refused(`--san ${wrong} is neither an address nor a DNS name, with or without a leading *.`)
    return makeCertificate([...(this.#options.settings.names ?? []), ...names])
  }

  async #stage(made: Omit<Certificate, 'fingerprint'>): Promise<Reissued> {
    const { dir, settings, store } = this.#options
    const { fingerprint } = saveCertificate(this.#next, made)
    const { fingerprint: present } = await openCertificate(dir, settings)
    const isNew = fingerprint !== present
    await store.change(em => setStoreValue('next_leaf', isNew ? fingerprint : null, em))
    if (isNew) return { fingerprint, state: 'next' }
    rmSync(this.#next)
    throw refused('this is the present certificate; none is staged now')
  }

  #requireStaged(fingerprint: string): void {
    if (!existsSync(this.#next) && readCertificate({ certPath: this.#own }).fingerprint === fingerprint)
      return
    if (readCertificate({ certPath: this.#next }).fingerprint !== fingerprint)
      throw refused(`${this.#next} is not the certificate that was staged; stage it again`)
  }

  async #adopt(present: string, how: 'careful' | 'force'): Promise<Activated> {
    const { store } = this.#options
    const pinned = await store.read(em => storeValue('leaf', em))
    if (how === 'careful' || pinned === present)
      throw refused('no certificate is staged; stage one with sluice cert reissue --rotate')
    const lost = await store.read(em => unawareClients(present, em))
    await this.#pin(present)
    return { fingerprint: present, lost, isShadowed: false }
  }

  #pin(fingerprint: string): Promise<void> {
    return this.#options.store.change(async em => {
      await setStoreValue('leaf', fingerprint, em)
      await setStoreValue('next_leaf', null, em)
    })
  }
}

const refused = (message: string): Fault => new Fault(wrongUsage, message)

export const namesOf = (clients: readonly UnawareClient[]): string =>
  clients
    .slice(0, 20)
    .map(({ name, client_id }) => `${name} (${client_id})`)
    .join(', ') + (clients.length > 20 ? ` and ${clients.length - 20} more` : '')
