// The agent's state directory: one SQLite file for managed objects, rule settings and the journal.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { dataDirUnusable, Fault, storeInUse } from '../../kernel/base/errors.ts'
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
 * Creates the directory, readable by its owner only, and locks it until the release: two agents in one directory would
 * undo each other's changes. Throws Fault.
 */
export function lockStateDir(dir: string): Release {
  const lock = openLock(dir)
  try {
    lock.exec('begin exclusive')
  } catch (cause) {
    lock.close()
    throw new Fault(storeInUse, `${dir} is in use by another agent; stop it, or give another state_dir`, {
      cause
    })
  }
  return () => {
    lock.close()
  }
}

function openLock(dir: string): StateDatabase {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    chmodSync(dir, 0o700)
    return new Database(join(dir, 'lock.db'), { timeout: 0 })
  } catch (cause) {
    throw new Fault(dataDirUnusable, `state_dir ${dir} cannot be used: ${String(cause)}`, { cause })
  }
}
