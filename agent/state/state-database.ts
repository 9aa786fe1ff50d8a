// The agent's state directory: one SQLite file for managed objects, rule settings and the journal.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makePrivateDir } from '../../kernel/base/directory.ts'
import { dataDirUnusable, Fault, reasonOf, storeInUse, storeUnavailable } from '../../kernel/base/errors.ts'
import type { Release } from '../../kernel/base/releases.ts'

/** Values by position, or one object with values by name. Unknown names are ignored. */
type Values = readonly (string | number | null | object)[]

/** A prepared statement with values V and rows R. */
interface Statement<V extends Values, R> {
  run(...values: V): { readonly lastInsertRowid: number | bigint }
  get(...values: V): R | undefined
  all(...values: V): R[]
}

export interface StateDatabase {
  exec(sql: string): void
  prepare<V extends Values = Values, R = unknown>(sql: string): Statement<V, R>
  /** Runs the work in a transaction. A throw rolls it back. */
  transaction(work: () => void): void
  /** Sets how long a call waits for the lock of another process. It blocks the event loop; at first 5 s. */
  setLockWait(ms: number): void
  close(): void
}

/** 'full': commits survive a power failure. 'normal': commits survive only a crash of the process, without a sync. */
export type Durability = 'full' | 'normal'

export const lockWaitMs = 5_000

/** Opens a connection to <dir>/state.db. A process can have several: no call yields, not even in a transaction. */
export function openStateDatabase(dir: string, durability: Durability = 'full'): StateDatabase {
  const db = openFile(join(dir, 'state.db'), durability)
  return {
    exec: sql => db.exec(sql),
    // The caller states the types; node:sqlite does not know them.
    prepare: <V extends Values, R>(sql: string) => db.prepare(sql) as unknown as Statement<V, R>,
    transaction(work) {
      db.exec('begin immediate') // if another process has the lock, the work does not begin
      try {
        work()
        db.exec('commit')
      } catch (error) {
        if (db.isTransaction) db.exec('rollback') // a full disk ends it
        throw error
      }
    },
    setLockWait: ms => db.exec(`pragma busy_timeout = ${ms}`),
    close() {
      if (db.isOpen) db.close()
    }
  }
}

/** Throws Fault. The exit code says whether a later start can succeed. */
function openFile(file: string, durability: Durability): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: lockWaitMs, allowUnknownNamedParameters: true })
    db.exec(
      `pragma journal_mode = wal; pragma synchronous = ${durability}; select count(*) from sqlite_schema`
    )
    return db
  } catch (cause) {
    db?.close()
    if (isDamaged(cause))
      throw new Fault(
        dataDirUnusable,
        `${file} is damaged: ${reasonOf(cause)}; move it away, and the server sends the rules again`,
        { cause }
      )
    throw new Fault(
      storeUnavailable,
      `${file} cannot be opened at present: ${reasonOf(cause)}; check the space of its disk, and that it is not read-only`,
      { cause }
    )
  }
}

/** Returns the first damage that SQLite finds, or null. */
export function damageIn(db: StateDatabase): string | null {
  const found = db.prepare<[], { quick_check: string }>('pragma quick_check(1)').get()?.quick_check ?? 'ok'
  return found === 'ok' ? null : found
}

// The low bytes of SQLite's extended codes:
const sqliteBusy = 5
const sqliteCorrupt = 11
const sqliteNotDatabase = 26

const primaryCode = (error: unknown): number => Object(error).errcode & 0xff

/** Returns whether another process has locked the database. */
export const isLocked = (error: unknown): boolean => primaryCode(error) === sqliteBusy

const isDamaged = (error: unknown): boolean => [sqliteCorrupt, sqliteNotDatabase].includes(primaryCode(error))

/** Returns whether an agent has locked the directory. Changes nothing. */
export function isStateDirLocked(dir: string): boolean {
  if (!existsSync(join(dir, 'lock.db'))) return false
  try {
    void lockStateDir(dir)()
    return false
  } catch (error) {
    if (error instanceof Fault && error.errorCode === storeInUse) return true
    throw error
  }
}

/**
 * Creates the directory for its owner only, and locks it until the release: two agents in one directory would overwrite
 * each other's changes. Throws Fault.
 */
export function lockStateDir(dir: string): Release {
  makePrivateDir(dir, 'state_dir')
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(join(dir, 'lock.db'), { timeout: 0 })
    lock.exec('pragma journal_mode = memory; begin exclusive') // a journal on disk needs space
  } catch (cause) {
    lock?.close()
    if (isLocked(cause))
      throw new Fault(
        storeInUse,
        `state_dir ${dir} is in use by another agent; stop it, or give another state_dir`,
        { cause }
      )
    throw new Fault(dataDirUnusable, `state_dir ${dir} cannot be locked: ${reasonOf(cause)}`, { cause })
  }
  return () => void lock.close()
}
