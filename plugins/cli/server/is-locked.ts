import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../../kernel/base/errors.ts'
import { lockStore } from '../../../kernel/store/data-dir.ts'

/** Returns whether a process has locked the data directory. Locks it for a moment if not, and makes no file. */
export function isLocked(dir: string): boolean {
  if (!existsSync(join(dir, 'lock.db'))) return false
  try {
    void lockStore(dir)()
    return false
  } catch (error) {
    if (error instanceof Fault) return true
    throw error
  }
}
