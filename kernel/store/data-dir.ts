import { join } from 'node:path'
import { makePrivateDir } from '../base/directory.ts'
import type { Release } from '../base/releases.ts'
import { lockStore } from './lock.ts'

/** Makes and locks the data directory. Returns the path of the store's file. */
export function openDataDir(dir: string, defer: (release: Release) => void): string {
  makePrivateDir(dir, 'data_dir')
  defer(lockStore(dir))
  return join(dir, 'sluice.db')
}
