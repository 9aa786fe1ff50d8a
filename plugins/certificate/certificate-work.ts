// The work of the certificate commands. Only they load it, so that other commands start without the store.
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import { openStore } from '../../kernel/store/open.ts'
import { placeOf } from '../../kernel/store/sql/database.ts'
import { configuredFiles, names } from './certificate.ts'
import { showCertificate } from './certificate-status.ts'
import { openCertificateStore } from './certificate-store.ts'
import { storeKeyUnusable } from './codes.ts'
import { setStoreValue, storeValue, unawareClients } from './pinned-certificate.ts'
import { type Activated, listClients, Rotation } from './rotation.ts'
import { removeSealed } from './sealed-certificates.ts'
import { certificateSettings } from './settings.ts'
import { readStoreKey } from './store-key.ts'

type Call = CommandCall<object>

export async function show(call: Call): Promise<void> {
  const shown = await showCertificate(call.dataDir(), certificateSettings(call.keys()), storePlace(call))
  call.print.data({ ...shown, waiting_for: shown.waiting_for.map(({ name }) => name) })
}

export async function reissue(call: Call, ...[source, how]: Parameters<Rotation['reissue']>): Promise<void> {
  const rotation = await openRotation(call)
  call.print.data(await rotation.reissue(source, how))
  if (how === 'rotate') call.print.line('Start the server: clients learn it as they connect. See cert show.')
}

export async function activate(call: Call, isForced: boolean): Promise<void> {
  const { fingerprint, lost, isShadowed } = await openRotation(call).then(
    rotation => rotation.activate(isForced ? 'force' : 'careful'),
    error => (isForced ? replaceLost(error, call) : Promise.reject(error))
  )
  call.print.data({ fingerprint, lost })
  if (lost.length > 0) call.print.line(`Enroll again: ${listClients(lost)}`)
  if (isShadowed) call.print.line('tls_cert_path still names another certificate: point it at the new one')
}

const storePlace = (call: Pick<Call, 'dataDir' | 'keys'>) =>
  placeOf(call.keys(), join(call.dataDir(), 'sluice.db'))

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
