// ETag, If-Match and If-None-Match (RFC 9110, 8.8.3 and 13.1): nobody overwrites a change that he has not seen.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Resource } from '../../../kernel/http/route.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { resourceChanged } from '../codes.ts'

/** The headers of a request. */
export interface Conditions {
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
}

/** Null: there is no such record; undefined: its kind has no versions. */
export async function etagOf({ version }: Resource, em: EntityManager): Promise<string | null | undefined> {
  if (!version) return undefined
  const found = await version(em)
  return found === null ? null : etagText(found)
}

/** As `etagOf`, of a record that a change has just made or left. */
export const etagAfter = (resource: Resource, made: unknown, em: EntityManager) =>
  resource.versionIn ? etagText(resource.versionIn(made as never)) : etagOf(resource, em)

/** Returns the ETag of a version: for records that show theirs. */
export const etagText = (version: number | readonly unknown[]): string =>
  `"${typeof version === 'number' ? version : hashOf(JSON.stringify(version)).slice(0, 16)}"`

/** Throws unless the record is as the conditions say. */
export function requireMatch({ ifMatch, ifNoneMatch }: Conditions, etag: string | null | undefined): void {
  if (ifMatch !== undefined && !isAny(ifMatch) && !(etag && strongTags(ifMatch).includes(etag)))
    throw changed(etag ? `its ETag is ${etag}` : 'it has no ETag', etag)
  if (isAny(ifMatch) && etag === null) throw changed('there is none')
  if (isAny(ifNoneMatch) && etag) throw changed('there is one already', etag)
}

/** `etag`: the one that the record has. */
const changed = (why: string, etag?: string | null): Fault =>
  new Fault(
    resourceChanged,
    `the record is not as If-Match or If-None-Match says: ${why}; read it again`,
    etag ? { details: { etag } } : {}
  )

const isAny = (tags: string | undefined): boolean => tags?.trim() === '*'

/** Weak tags are left out: they never match. */
const strongTags = (tags: string): string[] =>
  [...tags.matchAll(/(W\/)?("[^"]*")/g)].flatMap(([, weak, tag = '']) => (weak ? [] : [tag]))
