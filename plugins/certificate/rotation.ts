// The work of the certificate commands: shows the certificate, and changes that of a stopped server. Only these commands load
// it, so that others start without the store.
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, tlsInvalid, wrongUsage } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openStore } from '../../kernel/store/open.ts'
import { readPlace } from '../../kernel/store/sql/database.ts'
import {
  type CertificateFiles,
  type CertificateSettings,
  configuredFiles,
  names,
  type Pair,
  readCertificate
} from './certificate.ts'
import { isSanName } from './certificate-names.ts'
import {
  countEnrolled,
  setStoreValue,
  storeValue,
  type UnawareClient,
  unawareClients
} from './certificate-pins.ts'
import { showCertificate } from './certificate-status.ts'
import { type CertificateStore, openCertificateStore, servedCertificate } from './certificate-store.ts'
import { removeSealed } from './sealed-certificates.ts'
import { certificateSettings } from './settings.ts'
import { readStoreKey, storeKeyUnusable } from './store-key.ts'

interface Options {
  readonly certificates: CertificateStore
  readonly settings: CertificateSettings
  readonly store: Kernel['store']
}

/** A self-made certificate for these names, or the operator's own. */
type Source = { readonly names: readonly string[] } | { readonly from: CertificateFiles }

interface Reissued {
  readonly fingerprint: string
  readonly state: 'current' | 'next'
}

interface Activated {
  readonly fingerprint: string
  readonly lost: readonly UnawareClient[] // clients that do not trust it
  readonly isShadowed: boolean // tls_cert_path names another certificate
}

export class Rotation {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  async reissue(source: Source, how: 'replace' | 'rotate'): Promise<Reissued> {
    const { certificates, settings, store } = this.#options
    const made = 'from' in source ? readCertificate(source.from) : await this.#make(source.names)
    const count = await store.read(countEnrolled)
    if (how === 'rotate') return this.#stage(made)
    if (count > 0)
      throw refused(
        `${count} enrolled clients pin the current certificate; use --rotate to announce the new one first`
      )
    const configured = configuredFiles(settings)
    if (configured)
      throw refused(`tls_cert_path gives the certificate; put the new one at ${configured.certPath}`)
    const { fingerprint } = await certificates.save('own', made)
    await certificates.removeNext()
    await this.#pin(fingerprint)
    return { fingerprint, state: 'current' }
  }

  /** Switches to the staged certificate. If there is none, 'force' adopts the certificate in use. */
  async activate(how: 'careful' | 'force'): Promise<Activated> {
    const { certificates, settings, store } = this.#options
    const fingerprint = await store.read(em => storeValue('next_leaf', em))
    const { fingerprint: present } = await servedCertificate(certificates, settings)
    if (fingerprint === null) return this.#adopt(present, how)
    const lost = await store.read(em => unawareClients(fingerprint, em))
    if (lost.length > 0 && how === 'careful')
      throw refused(
        `these clients do not trust the next certificate yet: ${listClients(lost)}; start the server until ` +
          'they have connected, or use --force and enroll them again'
      )
    await this.#requireStaged(fingerprint, present)
    await this.#pin(fingerprint)
    await certificates.settle({ leaf: fingerprint, next: null }) // after a crash before this, the next start does it
    const configured = configuredFiles(settings)
    const isShadowed = configured !== null && readCertificate(configured).fingerprint !== fingerprint
    return { fingerprint, lost, isShadowed }
  }

  async #make(names: readonly string[]) {
    const { makeCertificate } = await import('./make-certificate.ts')
    const wrong = names.find(name => !isSanName(name.toLowerCase()))
    if (wrong !== undefined)
      throw refused(`--san ${wrong} is neither an address nor a DNS name, with or without a leading *.`)
    return makeCertificate([...(this.#options.settings.names ?? []), ...names])
  }

  async #stage(made: Pair): Promise<Reissued> {
    const { certificates, settings, store } = this.#options
    const { fingerprint } = await certificates.save('next', made)
    const { fingerprint: present } = await servedCertificate(certificates, settings)
    const isNew = fingerprint !== present
    await store.change(em => setStoreValue('next_leaf', isNew ? fingerprint : null, em))
    if (isNew) return { fingerprint, state: 'next' }
    await certificates.removeNext()
    throw refused('this is the current certificate; none is staged now')
  }

  async #requireStaged(fingerprint: string, present: string): Promise<void> {
    const staged = await this.#options.certificates.next()
    if ((staged?.fingerprint ?? present) !== fingerprint)
      throw refused('the staged certificate is missing; stage it again')
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

const listClients = (clients: readonly UnawareClient[]): string =>
  clients
    .slice(0, 20)
    .map(({ name, client_id }) => `${name} (${client_id})`)
    .join(', ') + (clients.length > 20 ? ` and ${clients.length - 20} more` : '')

type Call = CommandCall<object>

export async function show(call: Call): Promise<void> {
  const shown = await showCertificate(call.dataDir(), certificateSettings(call.keys()), storePlace(call))
  call.print.data({ ...shown, waiting_for: shown.waiting_for.map(({ name }) => name) })
}

export async function reissue(call: Call, ...[source, how]: Parameters<Rotation['reissue']>): Promise<void> {
  const rotation = await openRotation(call)
  call.print.data(await rotation.reissue(source, how))
  if (how === 'rotate') call.print.note('Start the server: clients learn it as they connect. See cert show.')
}

export async function activate(call: Call, isForced: boolean): Promise<void> {
  const { fingerprint, lost, isShadowed } = await openRotation(call).then(
    rotation => rotation.activate(isForced ? 'force' : 'careful'),
    error => (isForced ? replaceLost(error, call) : Promise.reject(error))
  )
  call.print.data({ fingerprint, lost })
  if (lost.length > 0) call.print.note(`Enroll again: ${listClients(lost)}`)
  if (isShadowed) call.print.note('tls_cert_path still names another certificate: point it at the new one')
}

const storePlace = (call: Pick<Call, 'dataDir' | 'keys'>) =>
  readPlace(call.keys(), join(call.dataDir(), 'sluice.db'))

async function openRotation(call: Pick<Call, 'open' | 'dataDir' | 'keys'>): Promise<Rotation> {
  const { store, log } = await call.open('certificate')
  const certificates = await openCertificateStore({ dir: call.dataDir(), store, log })
  return new Rotation({ certificates, settings: certificateSettings(call.keys()), store })
}

/** Makes a new certificate for a shared store if `error` says that nobody can open the old one. Otherwise throws `error`. */
async function replaceLost(error: unknown, call: Call): Promise<Activated> {
  const place = storePlace(call)
  const isLost = error instanceof Fault && [storeKeyUnusable, tlsInvalid].includes(error.errorCode)
  if (!isLost || typeof place === 'string' || configuredFiles(certificateSettings(call.keys()))) throw error
  readStoreKey(call.dataDir()) // throws if the file is not a key
  const exclusive = await openStore(place, call.stores)
  const before = await exclusive.change(forgetCertificates).finally(exclusive.close)
  const { control, store } = await call.open('certificate') // makes a new one
  const { fingerprint } = control
  const lost = fingerprint === before ? [] : await store.read(em => unawareClients(fingerprint, em))
  return { fingerprint, lost, isShadowed: false }
}

/** Returns the fingerprint that agents pinned. */
async function forgetCertificates(em: EntityManager): Promise<string | null> {
  const leaf = await storeValue('leaf', em)
  for (const name of names) await removeSealed(name, em)
  for (const name of ['leaf', 'next_leaf'] as const) await setStoreValue(name, null, em)
  return leaf
}
