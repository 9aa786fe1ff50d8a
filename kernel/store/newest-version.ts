import type { EntityManager } from '@mikro-orm/sql'
import { Fault, schemaTooNew } from '../base/errors.ts'
import { isAtLeast } from '../base/version-range.ts'
import { StoreValue } from '../identity/entities.ts'
import type { Database } from './open.ts'
import { areNeighbours } from './sql/migrations.ts'

const name = 'newest_version'

/** Records the newest sluice that has opened the store. Throws Fault in an older one, and beside servers with which it may not share the store. */
export async function recordVersion(store: Database, version: string): Promise<void> {
  store.upgrade?.requireNeighbours(version)
  const newest = await store.read(em => requireNotNewer(em, version, store.upgrade !== null))
  if (!isAtLeast(newest, version)) await store.change(em => em.upsert(StoreValue, { name, value: version }))
}

/** Refuses a store that a newer sluice has opened, but one that may share it: we may know less than its numbers tell. Returns the newest version. */
export async function requireNotNewer(em: EntityManager, version: string, isShared = false): Promise<string> {
  const [{ value: newest } = { value: '0.0.0' }] = await em.execute<{ value: string }[]>(
    'select value from kernel_fact where name = ?',
    [name]
  )
  if (isAtLeast(version, newest) || (isShared && areNeighbours(version, newest))) return newest
  const message = `sluice ${newest} has opened the store, this is ${version}; start the newer again`
  throw new Fault(schemaTooNew, message)
}
