import semver from 'semver'

/** A version that is no semver is older than everything: a gate then refuses. */
export const isAtLeast = (version: string, since: string): boolean =>
  semver.valid(version) !== null && semver.gte(version, since)

export const satisfies = (version: string, range: string): boolean => semver.satisfies(version, range)
