// A copy of the store before a migration: the way back to the build before.
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { systemClock, timestamp } from '../../../kernel/base/clock.ts'
import { Fault, reasonOf, storeUnavailable } from '../../../kernel/base/errors.ts'
import { sync, syncDir } from '../../../kernel/platform/sync-file.ts'

const kept = 2

/** Copies the store beside itself, readable by its owner alone; keeps it and the newest other one. Returns the copy's file. */
export async function copyStore(file: string, copyTo: (draft: string) => Promise<unknown>): Promise<string> {
  const copy = `${file}.before-${timestamp(systemClock.now()).replaceAll(/[-:]|\.\d+/g, '')}`
  const draft = `${copy}.tmp`
  try {
    for (const old of besides(file, '.tmp')) rmSync(old) // of a start that was killed
    await copyTo(draft)
    sync(draft) // SQLite does not
    renameSync(draft, copy)
    syncDir(dirname(file))
  } catch (cause) {
    rmSync(draft, { force: true })
    const message = `the store cannot be copied before its migration: ${reasonOf(cause)}; free space in ${dirname(file)}`
    throw new Fault(storeUnavailable, message, { cause })
  }
  const others = besides(file, 'Z').filter(other => other !== copy) // later ones, too: a clock may have been set back
  for (const old of others.slice(0, 1 - kept)) rmSync(old)
  return copy
}

/** Returns the files of copies with this ending, the oldest first: their names have the time. */
const besides = (file: string, ending: string): string[] =>
  readdirSync(dirname(file))
    .filter(name => name.startsWith(`${basename(file)}.before-`) && name.endsWith(ending))
    .sort()
    .map(name => join(dirname(file), name))
