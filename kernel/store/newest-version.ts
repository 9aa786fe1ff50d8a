import type { EntityManager } from '@mikro-orm/sql'
import { Fault, schemaTooNew } from '../base/errors.ts'
import { isAtLeast } from '../base/version-range.ts'
import { StoreValue } from '../identity/entities.ts'
import type { Database } from './open.ts'

const name = 'newest_version'

/** Records the newest sluice that has opened the store. Throws Fault in an older one. */
export async function recordVersion(store: Database, version: string): Promise<void> {
  const newest = await store.read(em => requireNotNewer(em, version))
  if (newest !== version) await store.change(em => em.upsert(StoreValue, { name, value: version }))
}

/** Refuses a store that a newer sluice has opened: we may know less than its numbers tell. Returns the newest version. */
export async function requireNotNewer(em: EntityManager, version: string): Promise<string> {
  const [{ value: newest } = { value: '0.0.0' }] = await em.execute<{ value: string }[]>(
    'select value from kernel_fact where name = ?',
    [name]
  )
  if (isAtLeast(version, newest)) return newest
  const message = `sluice ${newest} has opened the store, this is ${version}; start the newer again`
  throw new Fault(schemaTooNew, message)
}
