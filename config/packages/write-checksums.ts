import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Of } from './program-contents.ts'

const name = 'SHA256SUMS'

/** Writes the hashes of all files in the folder, for `sha256sum --check`. Returns the path. */
export function writeChecksums(dir: string): string {
  const files = readdirSync(dir, { withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name !== name)
    .map(entry => entry.name)
    .sort()
  const path = join(dir, name)
  writeFileSync(path, files.map(file => `${sha256Of(join(dir, file))}  ${file}\n`).join(''))
  return path
}
