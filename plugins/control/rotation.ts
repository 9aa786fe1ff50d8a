// The certificate's life while the server is stopped: made anew, waiting as the next, activated.
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { givenFiles, type Leaf, nextFile, openCertificate, ownFile } from './certificate.ts'
import { isName, keepLeaf, type LeafFiles, readLeaf, syncDir } from './leaf.ts'
import { enrolled, setStoreValue, storeValue, unaware, type Waiting } from './store-values.ts'

interface Options {
  readonly dir: string // of the data
  readonly leaf: Leaf
  readonly store: Kernel['store']
}

/** A new leaf: of these names, or the operator's own. */
export type Source = { readonly names: readonly string[] } | { readonly from: LeafFiles }

interface Reissued {
  readonly fingerprint: string
  readonly state: 'current' | 'next'
}

interface Activated {
  readonly fingerprint: string
  readonly lost: readonly Waiting[] // clients that do not trust it
  readonly isShadowed: boolean // by a tls_cert_path that names another
}

export function openRotation({ dir, leaf, store }: Options) {
  const [own, next] = [ownFile(dir), nextFile(dir)]
  const at = (file: string): LeafFiles => ({ certPath: file, keyPath: file })
  const given = givenFiles(leaf)

  async function reissue(source: Source, how: 'replace' | 'rotate'): Promise<Reissued> {
    const made = 'from' in source ? readLeaf(source.from) : await make(source.names)
    const count = await store.read(enrolled)
    if (how === 'rotate') return stage(made)
    if (count > 0)
      throw new Fault(
        wrongUsage,
        `${count} enrolled clients pin the present certificate; with --rotate they learn the new one first`
      )
    if (given)
      throw new Fault(wrongUsage, `tls_cert_path gives the certificate; put the new one at ${given.certPath}`)
    keepLeaf(own, made)
    rmSync(next, { force: true })
    const { fingerprint } = readLeaf(at(own))
    await store.change(async em => {
      await setStoreValue('leaf', fingerprint, em)
      await setStoreValue('next_leaf', null, em)
    })
    return { fingerprint, state: 'current' }
  }

  async function make(names: readonly string[]) {
    const wrong = names.find(name => !isName(name.toLowerCase()))
    if (wrong !== undefined)
      throw new Fault(wrongUsage, `--san ${wrong} is no DNS name (perhaps with a leading *.) and no address`)
    const { makeLeaf } = await import('./self-signed.ts')
    return makeLeaf([...(leaf.names ?? []), ...names])
  }

  async function stage(made: { cert: string; key: string }): Promise<Reissued> {
    keepLeaf(next, made)
    const { fingerprint } = readLeaf(at(next))
    const { fingerprint: present } = await openCertificate(dir, leaf)
    await store.change(em => setStoreValue('next_leaf', fingerprint === present ? null : fingerprint, em))
    if (fingerprint !== present) return { fingerprint, state: 'next' }
    rmSync(next)
    throw new Fault(wrongUsage, 'this is the present certificate; nothing waits any more')
  }

  async function activate(how: 'careful' | 'force'): Promise<Activated> {
    const fingerprint = await store.read(em => storeValue('next_leaf', em))
    const { fingerprint: present } = await openCertificate(dir, leaf)
    if (fingerprint === null) return adopt(present, how)
    const lost = await store.read(em => unaware(fingerprint, em))
    if (lost.length > 0 && how === 'careful')
      throw new Fault(
        wrongUsage,
        `${lost.length} clients do not know the next certificate yet: ${namesOf(lost)}; start the server until ` +
          'they have connected, or say --force and enroll them again'
      )
    promote(fingerprint)
    await settle(fingerprint)
    const isShadowed = given !== null && readLeaf(given).fingerprint !== fingerprint
    return { fingerprint, lost, isShadowed }
  }

  /** The files first: what a crash leaves behind is the start's refusal, which sends back here. */
  function promote(fingerprint: string): void {
    if (!existsSync(next) && readLeaf(at(own)).fingerprint === fingerprint) return
    if (readLeaf(at(next)).fingerprint !== fingerprint)
      throw new Fault(wrongUsage, `${next} is not the certificate that was staged; stage it again`)
    renameSync(next, own)
    syncDir(dirname(own))
  }

  /** Nothing was staged: the leaf that the configuration gives, whoever trusts it. */
  async function adopt(present: string, how: 'careful' | 'force'): Promise<Activated> {
    const pinned = await store.read(em => storeValue('leaf', em))
    if (how === 'careful' || pinned === present)
      throw new Fault(wrongUsage, 'no certificate waits; stage one with sluice cert reissue --rotate')
    const lost = await store.read(em => unaware(present, em))
    await settle(present)
    return { fingerprint: present, lost, isShadowed: false }
  }

  const settle = (fingerprint: string): Promise<void> =>
    store.change(async em => {
      await setStoreValue('leaf', fingerprint, em)
      await setStoreValue('next_leaf', null, em)
    })

  return { reissue, activate }
}

export const namesOf = (clients: readonly Waiting[]): string =>
  clients
    .slice(0, 20)
    .map(({ name, client_id }) => `${name} (${client_id})`)
    .join(', ') + (clients.length > 20 ? ` and ${clients.length - 20} more` : '')
