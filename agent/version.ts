import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Of this package: its manifest lies beside the sources in a checkout, a folder higher in the published build. */
export function ownVersion(): string {
  for (const up of ['..', '../..']) {
    try {
      const { name, version } = JSON.parse(
        readFileSync(join(import.meta.dirname, up, 'package.json'), 'utf8')
      )
      if (name === 'sluice') return version
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error // what readFileSync throws
    }
  }
  throw new TypeError('no package.json beside the program')
}
