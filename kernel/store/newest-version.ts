import { Fault, schemaTooNew } from '../base/errors.ts'
import { isAtLeast } from '../base/version-range.ts'
import { StoreValue } from '../identity/entities.ts'
import type { Database } from './open.ts'

const name = 'newest_version'

/** Records the newest sluice that has opened the store. An older one is refused: it may know less than its numbers tell. */
export async function recordVersion(store: Database, version: string): Promise<void> {
  const { value: newest } = (await store.read(em => em.findOne(StoreValue, { name }))) ?? { value: '0.0.0' }
  if (newest === version) return
  if (!isAtLeast(version, newest))
    throw new Fault(
      schemaTooNew,
      `sluice ${newest} has opened the store, this is ${version}; start the newer again`
    )
  await store.change(em => em.upsert(StoreValue, { name, value: version }))
}
