// What an agent keeps in its state directory: one SQLite file for held objects and the journal.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { dataDirUnusable, Fault, storeInUse } from '../../kernel/base/errors.ts'
import type { Release } from '../../kernel/base/releases.ts'

export type StateDatabase = Database.Database

/** What a commit waits for: 'full' the disk, 'normal' the system (a killed process loses nothing). */
export type Durability = 'full' | 'normal'

/** A connection to <dir>/state.db. One process may have several: better-sqlite3 never yields in a transaction. */
export function openStateDatabase(dir: string, durability: Durability = 'full'): StateDatabase {
  const db = new Database(join(dir, 'state.db'))
  db.pragma('journal_mode = wal')
  db.pragma(`synchronous = ${durability}`)
  return db
}

/** Makes the directory ours alone and holds it: two agents in one would each undo what the other opens. */
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
