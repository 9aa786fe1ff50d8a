// Copies the store before a migration, so that an operator can go back to the previous version.
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { systemClock, timestamp } from '../../../kernel/base/clock.ts'
import { Fault, reasonOf, storeUnavailable } from '../../../kernel/base/errors.ts'
import { sync, syncDir } from '../../../kernel/platform/sync-file.ts'

/**
 * Copies the store's file to a new one beside it, and returns the path of the copy. `copyTo` writes it. Keeps this copy
 * and the newest earlier one. The process's umask makes copies readable by their owner only.
 */
export async function copyStore(file: string, copyTo: (path: string) => Promise<unknown>): Promise<string> {
  const copy = `${file}.before-${timestamp(systemClock.now()).replaceAll(/[-:]|\.\d+/g, '')}`
  const draft = `${copy}.tmp`
  try {
    for (const old of copiesEnding(file, '.tmp')) rmSync(old) // left by a start that was killed
    await copyTo(draft)
    sync(draft) // VACUUM INTO does not sync it
    renameSync(draft, copy)
    syncDir(dirname(file))
  } catch (cause) {
    rmSync(draft, { force: true })
    const message = `the store cannot be copied before its migration: ${reasonOf(cause)}; free space in ${dirname(file)}`
    throw new Fault(storeUnavailable, message, { cause })
  }
  const others = copiesEnding(file, 'Z').filter(other => other !== copy) // may be newer, if the clock was set back
  for (const old of others.slice(0, -1)) rmSync(old)
  return copy
}

/** Returns the paths of copies with this ending, oldest first: their names contain the time. */
const copiesEnding = (file: string, ending: string): string[] =>
  readdirSync(dirname(file))
    .filter(name => name.startsWith(`${basename(file)}.before-`) && name.endsWith(ending))
    .sort()
    .map(name => join(dirname(file), name))
