import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import semver from 'semver'

/** A version that is no semver is older than everything: a gate then refuses. */
export const isAtLeast = (version: string, since: string): boolean =>
  semver.valid(version) !== null && semver.gte(version, since)

/** What is wrong with a need of a version, and which versions would do; empty where it is met. */
export function unmetNeed({ by, what, range, found }: Record<'by' | 'what' | 'range' | 'found', string>) {
  if (semver.satisfies(found, range)) return []
  const said = `${by} needs ${what} ${range}`
  if (!semver.validRange(range)) return [`${said}, which is no range of versions; write it like ^${found}`]
  const remedy = `install a release of it that takes ${found}, as ^${found} does, or ${what} ${range}`
  return [`${said}, found ${found}: ${remedy}`]
}

/** Of this package: its manifest lies above the sources in a checkout, a folder higher in the published build. */
export function ownVersion(): string {
  for (const up of ['../..', '../../..']) {
    try {
      const manifest = JSON.parse(readFileSync(join(import.meta.dirname, up, 'package.json'), 'utf8'))
      if (manifest.name === 'sluice') return manifest.version
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error // what readFileSync throws
    }
  }
  throw new TypeError('no package.json beside the program')
}
