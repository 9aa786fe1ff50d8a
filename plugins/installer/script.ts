// Makes /install.sh, a script for any POSIX shell. It contains the hashes of the packages, so its own hash also verifies
// the packages.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Package } from './packages.ts'

const template = readFileSync(new URL('./install.sh', import.meta.url), 'utf8')

export interface Script {
  readonly text: string
  readonly sha256: string
}

/** Returns the same script for the same packages: it contains no origin and no time. */
export function installScript(version: string, packages: readonly Package[]): Script {
  const cases = packages.map(({ machine, sha256 }) => `  ${machine}) hash=${sha256} ;;`).join('\n')
  const text = template.replaceAll('@VERSION@', version).replace('  # @HASHES@', () => cases)
  return { text, sha256: createHash('sha256').update(text).digest('hex') }
}
