// The agent's state directory: one SQLite file for managed objects, rule settings and the journal.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { makePrivateDir } from '../../kernel/base/directory.ts'
import { dataDirUnusable, Fault, reasonOf, storeInUse } from '../../kernel/base/errors.ts'
import type { Release } from '../../kernel/base/releases.ts'

export type StateDatabase = Database.Database

/** A commit survives a power failure ('full'), or only the death of the process ('normal', without waiting for the disk). */
export type Durability = 'full' | 'normal'

/** Opens a connection to <dir>/state.db. A process may have several: better-sqlite3 never yields in a transaction. */
export function openStateDatabase(dir: string, durability: Durability = 'full'): StateDatabase {
  const db = new Database(join(dir, 'state.db'))
  db.pragma('journal_mode = wal')
  db.pragma(`synchronous = ${durability}`)
  return db
}

/**
 * Creates the directory, for its owner only, and locks it until the release: two agents in one directory would undo
 * each other's changes. Throws Fault.
 */
export function lockStateDir(dir: string): Release {
  makePrivateDir(dir, 'state_dir')
  let lock: StateDatabase | undefined
  try {
    lock = new Database(join(dir, 'lock.db'), { timeout: 0 })
    lock.exec('begin exclusive')
  } catch (cause) {
    lock?.close()
    if (cause instanceof Database.SqliteError && cause.code === 'SQLITE_BUSY')
      throw new Fault(storeInUse, `${dir} is in use by another agent; stop it, or give another state_dir`, {
        cause
      })
    throw new Fault(dataDirUnusable, `state_dir ${dir} cannot be locked: ${reasonOf(cause)}`, { cause })
  }
  return () => void lock.close()
}
