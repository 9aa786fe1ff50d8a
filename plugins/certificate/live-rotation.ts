// Replaces the certificate of a running server that made it itself and alone has its store. Others run `cert reissue`.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, reasonOf } from '../../kernel/base/errors.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import {
  type CertificateSettings,
  certificateFile,
  configuredFiles,
  type NamedCertificates,
  readCertificate,
  restoredFile,
  saveCertificate,
  settleFiles
} from './certificate.ts'
import { coversHost, hostsOf, isSanName, isSelfMade } from './certificate-names.ts'
import {
  countEnrolled,
  namedCertificates,
  setStoreValue,
  storeValue,
  unawareClients
} from './certificate-pins.ts'
import type { NextPins } from './next-pins.ts'
import { type keys, settingsIn } from './settings.ts'
import { pinnedSlot } from './slots.ts'

export const rotationRefused = defineCode('rotation_refused', 409, 5)

const checkMs = 60_000 // notices that the last client to wait for was revoked

export interface Rotated {
  readonly fingerprint: string
  readonly state: 'current' | 'next'
}

interface Deps extends Kernel<typeof keys> {
  readonly nextPins: NextPins
}

export class LiveRotation {
  readonly #deps: Deps
  readonly #settings: CertificateSettings
  #isSwitching = false // the server is to switch to the staged certificate by itself
  #isChecking = false
  #isDue = false // a client has confirmed since the check began

  constructor(deps: Deps) {
    this.#deps = deps
    this.#settings = settingsIn(deps.config)
  }

  /** Covers the configured endpoints, if possible, and finishes a rotation that a restart has interrupted. */
  async start(): Promise<Release> {
    const { store, clock, control } = this.#deps
    const missing = (this.#settings.names ?? []).filter(
      name => isSanName(name) && !coversHost(control.certificate, name)
    )
    if (missing.length > 0) await store.change(em => this.cover(missing, em))
    this.#isSwitching = await store.read(async em => (await stagedHere(em)) !== null)
    await this.#switch()
    return clock.every(checkMs, this.#switchSoon)
  }

  /**
   * Replaces the certificate when `em` commits, so that it also covers these hosts. Returns false, and changes nothing, if
   * somebody pins the current one, or if it is not the server's to replace.
   */
  async cover(hosts: readonly string[], em: EntityManager): Promise<boolean> {
    if (this.#refusal(em) || (await this.#isPinned(em))) return false
    await this.#put({ leaf: await this.#make(hosts), next: null }, em)
    return true
  }

  /**
   * Replaces the certificate, or stages the new one if clients are enrolled: once all of them trust it, the server switches.
   * Unused codes then no longer work. Throws Fault if the certificate is not the server's to replace. Call `announce` after
   * the commit.
   */
  async rotate(hosts: readonly string[], em: EntityManager): Promise<Rotated> {
    const fault = this.#refusal(em)
    if (fault) throw fault
    const isStaged = (await countEnrolled(em)) > 0
    const fingerprint = await this.#make(hosts)
    const { leaf } = await namedCertificates(em)
    await this.#put(isStaged ? { leaf, next: fingerprint } : { leaf: fingerprint, next: null }, em)
    return { fingerprint, state: isStaged ? 'next' : 'current' }
  }

  /** Announces a staged certificate to all connected agents, without waiting for them. */
  async announce(): Promise<void> {
    const { nextPins, control } = this.#deps
    await nextPins.load()
    for (const peer of control.peers.all()) this.joined(peer)
  }

  /** Announces a staged certificate to an agent. Switches to it if no other client is missing. */
  joined(peer: Peer): void {
    void this.#deps.nextPins.announceTo(peer).then(this.#switchSoon)
  }

  /** Returns why the certificate is not the server's to replace; null if it is. */
  #refusal(em: EntityManager): Fault | null {
    const files = configuredFiles(this.#settings)
    if (files) return refused(`tls_cert_path gives the certificate; put another one at ${files.certPath}`)
    if (!isSelfMade(this.#deps.control.certificate))
      return refused('the certificate is your own; stop the server and run sluice cert reissue --from FILE')
    return mayBeShared(em)
      ? refused('several servers may have this certificate; stop all and run sluice cert reissue --san NAME')
      : null
  }

  async #isPinned(em: EntityManager): Promise<boolean> {
    if ((await countEnrolled(em)) > 0) return true
    for (const { value: count } of this.#deps.filled(pinnedSlot)) if ((await count(em)) > 0) return true
    return false
  }

  /** Saves a new certificate as a draft, which gets its place after the commit, or at the next start. */
  async #make(hosts: readonly string[]): Promise<string> {
    const { control, dataDir } = this.#deps
    const { makeCertificate } = await import('./make-certificate.ts')
    const made = await makeCertificate([
      ...hostsOf(control.certificate),
      ...(this.#settings.names ?? []),
      ...hosts
    ])
    return saveCertificate(restoredFile(certificateFile('next', dataDir)), made).fingerprint
  }

  async #put(named: NamedCertificates, em: EntityManager): Promise<void> {
    const { control, dataDir, log } = this.#deps
    await setStoreValue('leaf', named.leaf, em)
    await setStoreValue('next_leaf', named.next, em)
    await setStoreValue('rotating', named.next, em)
    afterCommit(em, () => {
      this.#isSwitching = named.next !== null
      settleFiles(dataDir, named)
      const { cert, key, fingerprint } = readCertificate({ certPath: certificateFile('own', dataDir) })
      if (fingerprint === control.fingerprint) return
      control.serve(cert, key)
      log.info('certificate.replaced', 'agents that connect now get the new certificate', { fingerprint })
    })
  }

  /** Switches to the staged certificate if all enrolled clients trust it. */
  async #switch(): Promise<void> {
    if (!this.#isSwitching) return
    await this.#deps.store.change(async em => {
      const next = await stagedHere(em)
      if (next === null || (await unawareClients(next, em, 1)).length > 0) return
      await this.#put({ leaf: next, next: null }, em)
    })
    if (!this.#isSwitching) this.#deps.nextPins.switched()
  }

  /** Runs one check at a time: a whole fleet may confirm at once. */
  readonly #switchSoon = async (): Promise<void> => {
    this.#isDue = true
    if (this.#isChecking) return
    this.#isChecking = true
    while (this.#isDue) {
      this.#isDue = false
      await this.#switch().catch(error => this.#deps.log.error('certificate.not_replaced', reasonOf(error)))
    }
    this.#isChecking = false
  }
}

/** Returns the staged certificate if `rotate` has staged it; that of `cert reissue` waits for `cert activate`. */
async function stagedHere(em: EntityManager): Promise<string | null> {
  const { next } = await namedCertificates(em)
  return next !== null && next === (await storeValue('rotating', em)) ? next : null
}

const refused = (message: string): Fault => new Fault(rotationRefused, message)
