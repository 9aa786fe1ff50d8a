import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Fault, storeInUse } from '../base/errors.ts'
import type { Release } from '../base/releases.ts'

/**
 * Lets one process use a data directory. The lock is a database of its own, so that backups can read the store; the
 * operating system releases it when the process ends, also by a crash.
 */
export function lockStore(dir: string): Release {
  const lock = new Database(join(dir, 'lock.db'), { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (cause) {
    lock.close()
    throw new Fault(storeInUse, `${dir} is in use by another server; stop it, or give another data_dir`, {
      cause
    })
  }
  return () => void lock.close()
}
