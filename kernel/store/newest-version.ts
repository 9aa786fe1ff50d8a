import type { EntityManager } from '@mikro-orm/sql'
import { Fault, schemaTooNew } from '../base/errors.ts'
import { isAtLeast } from '../base/version-range.ts'
import { StoreValue } from '../identity/entities.ts'
import type { Database } from './open.ts'
import { areNeighbours } from './sql/migrations.ts'

const name = 'newest_version'

/** Records the newest sluice that has opened the store. Throws Fault if this one is older, or incompatible with peer servers. */
export async function recordVersion(store: Database, version: string): Promise<void> {
  store.upgrade?.requireNeighbours(version)
  const newest = await store.read(em => requireNotNewer(em, version, store.upgrade !== null))
  if (!isAtLeast(newest, version)) await store.change(em => em.upsert(StoreValue, { name, value: version }))
}

/** Returns the newest version that has opened the store. Throws Fault if it is newer than ours, unless both can share it. */
export async function requireNotNewer(em: EntityManager, version: string, isShared = false): Promise<string> {
  const [{ value: newest } = { value: '0.0.0' }] = await em.execute<{ value: string }[]>(
    'select value from kernel_store_value where name = ?',
    [name]
  )
  if (isAtLeast(version, newest) || (isShared && areNeighbours(version, newest))) return newest
  const message = `sluice ${newest} has opened the store, this is ${version}; start the newer again`
  throw new Fault(schemaTooNew, message)
}
