import { join } from 'node:path'
import { makePrivateDir } from '../base/directory.ts'
import type { Release } from '../base/releases.ts'
import { checkFilesystem } from './filesystem.ts'
import { lockStore } from './lock.ts'

/** Makes the data directory where there is none. A directory that is refused is not changed. */
export function makeDataDir(dir: string): void {
  checkFilesystem(dir)
  makePrivateDir(dir, 'data_dir')
}

/** Makes and locks the data directory. Returns the path of the store's file. */
export function openDataDir(dir: string, defer: (release: Release) => void): string {
  makeDataDir(dir)
  defer(lockStore(dir))
  return join(dir, 'sluice.db')
}
