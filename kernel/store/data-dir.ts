import { join } from 'node:path'
import Database from 'better-sqlite3'
import { makePrivateDir } from '../base/directory.ts'
import { dataDirUnusable, Fault, reasonOf, storeInUse } from '../base/errors.ts'
import type { Release } from '../base/releases.ts'
import { lockWithoutWrite } from './sqlite/dialect.ts'

/** Locks a data directory until the release, or the end of the process. A separate database, so that backups can read the store. */
export function lockStore(dir: string): Release {
  let lock: Database.Database | undefined
  try {
    lock = new Database(join(dir, 'lock.db'), { timeout: 0 })
    lock.exec(lockWithoutWrite)
  } catch (cause) {
    lock?.close()
    if (cause instanceof Database.SqliteError && cause.code === 'SQLITE_BUSY')
      throw new Fault(storeInUse, `${dir} is in use by another server; stop it, or give another data_dir`, {
        cause
      })
    throw new Fault(dataDirUnusable, `data_dir ${dir} cannot be locked: ${reasonOf(cause)}`, { cause })
  }
  return () => void lock.close()
}

/** Makes and locks the data directory. Returns the path of the store's file. */
export function openDataDir(dir: string, defer: (release: Release) => void): string {
  makePrivateDir(dir, 'data_dir')
  defer(lockStore(dir))
  return join(dir, 'sluice.db')
}
