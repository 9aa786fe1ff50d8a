import semver from 'semver'

/** Returns true if `version` is `since` or later; false if it is not semver. */
export const isAtLeast = (version: string, since: string): boolean =>
  semver.valid(version) !== null && semver.gte(version, since)

/** Returns a list with a message and remedy if `found` is outside the range; else an empty list. */
export function unmetNeed({ by, what, range, found }: Record<'by' | 'what' | 'range' | 'found', string>) {
  if (semver.satisfies(found, range)) return []
  const need = `${by} needs ${what} ${range}`
  if (!semver.validRange(range)) return [`${need}, which is not a version range; write it like ^${found}`]
  const remedy = `install a release of it that supports ${found}, or install ${what} ${range}`
  return [`${need}, found ${found}: ${remedy}`]
}
