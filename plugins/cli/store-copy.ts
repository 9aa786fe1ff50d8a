// A copy of the store before a migration: the way back to the build before.
import { globSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock, timestamp } from '../../kernel/base/clock.ts'
import { Fault, reasonOf, storeUnavailable } from '../../kernel/base/errors.ts'

const kept = 2

/** Copies the store beside itself, readable by its owner alone; keeps the newest two copies. Returns the copy's file. */
export async function copyStore(file: string, copyTo: (draft: string) => Promise<unknown>): Promise<string> {
  const copy = `${file}.before-${timestamp(systemClock.now()).replaceAll(/[-:]|\.\d+/g, '')}`
  const draft = `${copy}.tmp`
  try {
    await copyTo(draft)
    renameSync(draft, copy)
  } catch (cause) {
    rmSync(draft, { force: true })
    const message = `the store cannot be copied before its migration: ${reasonOf(cause)}; free space in ${dirname(file)}`
    throw new Fault(storeUnavailable, message, { cause })
  }
  for (const old of copiesOf(file).slice(0, -kept)) rmSync(old)
  return copy
}

/** Oldest first: their names end with the time. */
const copiesOf = (file: string): string[] => globSync(`${file}.before-*Z`).sort()
