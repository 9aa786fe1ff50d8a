import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Fault, storeInUse } from '../base/errors.ts'
import type { Release } from '../base/releases.ts'

/**
 * One process a data directory. A database of its own, locked for the life of the process (the system lets go
 * with the process, also after a crash), so that the store itself stays open to a backup.
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
