import { accessSync, constants, lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateDir } from '../../kernel/base/directory.ts'

/** Throws as `makePrivateDir` unless the directory is private and can be written, or could be made. Changes nothing. */
export function requirePrivateDir(dir: string, key: string): void {
  makePrivateDir(dir, key, requireWritable)
}

function requireWritable(dir: string): void {
  const isMissing = lstatSync(dir, { throwIfNoEntry: false }) === undefined
  if (isMissing && dirname(dir) !== dir) {
    requireWritable(dirname(dir))
    return
  }
  if (!statSync(dir).isDirectory()) throw new Error(`${dir} is not a directory`)
  accessSync(dir, constants.W_OK | constants.X_OK)
}
