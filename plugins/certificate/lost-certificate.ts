// A store whose certificate nobody can open any more, and which has no other, gets a new one.
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import { openStore } from '../../kernel/store/open.ts'
import { placeOf } from '../../kernel/store/sql/database.ts'
import { configuredFiles } from './certificate.ts'
import { storeKeyUnusable } from './codes.ts'
import { setStoreValue, storeValue, unawareClients } from './pinned-certificate.ts'
import type { Activated } from './rotation.ts'
import { names, removeSealed } from './sealed-certificates.ts'
import { certificateSettings } from './settings.ts'
import { readStoreKey } from './store-key.ts'

type Call = Pick<CommandCall<object>, 'open' | 'dataDir' | 'keys' | 'stores'>

/** Takes the error with which the store did not open. Throws it if it is of something else. */
export async function renewLost(error: unknown, call: Call): Promise<Activated> {
  const place = placeOf(call.keys(), join(call.dataDir(), 'sluice.db'))
  const isLost = error instanceof Fault && [storeKeyUnusable, tlsInvalid].includes(error.errorCode)
  if (!isLost || typeof place === 'string' || configuredFiles(certificateSettings(call.keys()))) throw error
  readStoreKey(call.dataDir()) // throws for a file that is none
  const alone = await openStore(place, call.stores)
  const before = await alone.change(forget).finally(alone.close)
  const { control, store } = await call.open('certificate') // which makes one
  const { fingerprint } = control
  const lost = fingerprint === before ? [] : await store.read(em => unawareClients(fingerprint, em))
  return { fingerprint, lost, isShadowed: false }
}

async function forget(em: EntityManager): Promise<string | null> {
  const leaf = await storeValue('leaf', em)
  for (const name of names) await removeSealed(name, em)
  for (const name of ['leaf', 'next_leaf'] as const) await setStoreValue(name, null, em)
  return leaf
}
