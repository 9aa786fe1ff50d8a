// /install.sh: a script for any POSIX shell. It has the hashes of the packages in it, so that whoever has checked its own
// hash has checked what it installs.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Package } from './packages.ts'

const template = readFileSync(new URL('./install.sh', import.meta.url), 'utf8')

export interface Script {
  readonly text: string
  readonly sha256: string
}

/** The same packages give the same script, whoever asks: it has neither origin nor time. */
export function scriptOf(version: string, packages: readonly Package[]): Script {
  const cases = packages.map(({ machine, sha256 }) => `  ${machine}) hash=${sha256} ;;`).join('\n')
  const text = template.replaceAll('@VERSION@', version).replace('  # @HASHES@', () => cases)
  return { text, sha256: createHash('sha256').update(text).digest('hex') }
}
