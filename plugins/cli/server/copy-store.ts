// Copies the store before a migration, so that an operator can return to the previous build.
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { systemClock, timestamp } from '../../../kernel/base/clock.ts'
import { Fault, reasonOf, storeUnavailable } from '../../../kernel/base/errors.ts'
import { sync, syncDir } from '../../../kernel/platform/sync-file.ts'

const maxCopies = 2

/**
 * Copies the store into its own directory and returns the path of the copy. Keeps the two newest copies. The
 * process's umask makes copies readable by their owner only.
 */
export async function copyStore(file: string, copyTo: (draft: string) => Promise<unknown>): Promise<string> {
  const copy = `${file}.before-${timestamp(systemClock.now()).replaceAll(/[-:]|\.\d+/g, '')}`
  const draft = `${copy}.tmp`
  try {
    for (const old of copiesEnding(file, '.tmp')) rmSync(old) // left by a start that was killed
    await copyTo(draft)
    sync(draft) // SQLite does not sync it
    renameSync(draft, copy)
    syncDir(dirname(file))
  } catch (cause) {
    rmSync(draft, { force: true })
    const message = `the store cannot be copied before its migration: ${reasonOf(cause)}; free space in ${dirname(file)}`
    throw new Fault(storeUnavailable, message, { cause })
  }
  const others = copiesEnding(file, 'Z').filter(other => other !== copy) // also later ones: the clock may have been set back
  for (const old of others.slice(0, 1 - maxCopies)) rmSync(old)
  return copy
}

/** Returns the copies with this file ending, oldest first: their names contain the time. */
const copiesEnding = (file: string, ending: string): string[] =>
  readdirSync(dirname(file))
    .filter(name => name.startsWith(`${basename(file)}.before-`) && name.endsWith(ending))
    .sort()
    .map(name => join(dirname(file), name))
