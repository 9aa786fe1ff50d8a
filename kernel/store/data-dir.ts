import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { dataDirUnusable, Fault } from '../base/errors.ts'
import type { Release } from '../base/releases.ts'
import { checkFilesystem } from './filesystem.ts'
import { lockStore } from './lock.ts'

/** Creates and locks the data directory, and refuses unsuitable filesystems. Returns the path of the store's file. */
export async function openDataDir(dir: string, defer: (release: Release) => void): Promise<string> {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    chmodSync(dir, 0o700)
  } catch (cause) {
    throw new Fault(dataDirUnusable, `${dir} cannot be used: ${String(cause)}`, { cause })
  }
  await checkFilesystem(dir)
  defer(lockStore(dir))
  return join(dir, 'sluice.db')
}
