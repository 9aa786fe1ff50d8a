import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
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

/** Of this package: its manifest is the first one above the sources, and above the published build. */
export function ownVersion(): string {
  const manifest = findPackageJSON(import.meta.url)
  if (manifest === undefined) throw new TypeError('no package.json above the program')
  return JSON.parse(readFileSync(manifest, 'utf8')).version
}
