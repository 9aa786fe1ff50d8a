import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** Returns the version in the nearest package.json above this file. */
export function ownVersion(): string {
  const manifest = findPackageJSON(import.meta.url)
  if (manifest === undefined) throw new TypeError('no package.json above the program')
  return JSON.parse(readFileSync(manifest, 'utf8')).version
}
