// ETag, If-Match and If-None-Match (RFC 9110, 8.8.3 and 13.1) prevent lost updates.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Resource } from '../../../kernel/http/route.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { resourceChanged } from '../codes.ts'

/** Conditional headers of a request. */
export interface Conditions {
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
}

/** Returns null if there is no such record, undefined if its kind has no versions. */
export async function etagOf({ version }: Resource, em: EntityManager): Promise<string | null | undefined> {
  if (!version) return undefined
  const found = await version(em)
  return found === null ? null : etagText(found)
}

/** Like `etagOf`, after a change in the same transaction. */
export const etagAfter = (resource: Resource, made: unknown, em: EntityManager) =>
  resource.versionIn ? etagText(resource.versionIn(made as never)) : etagOf(resource, em)

/** Returns the ETag of a version, for records that show theirs. */
export const etagText = (version: number | readonly unknown[]): string =>
  `"${typeof version === 'number' ? version : hashOf(JSON.stringify(version)).slice(0, 16)}"`

/** Throws unless the record satisfies the conditions. */
export function requireMatch({ ifMatch, ifNoneMatch }: Conditions, etag: string | null | undefined): void {
  if (ifMatch !== undefined && !isAny(ifMatch) && !(etag && strongTags(ifMatch).includes(etag)))
    throw changed(etag ? `its ETag is ${etag}` : 'it has no ETag', etag, remedyFor(ifMatch))
  if (isAny(ifMatch) && etag === null) throw changed('there is none')
  if (isAny(ifNoneMatch) && etag) throw changed('there is one already', etag)
}

/** `etag` is the current one of the record. */
const changed = (why: string, etag?: string | null, remedy = readAgain): Fault =>
  new Fault(
    resourceChanged,
    `the record is not as If-Match or If-None-Match says: ${why}; ${remedy}`,
    etag ? { details: { etag } } : {}
  )

const readAgain = 'read it again'

/** Says the cause if the tags match no version of any record. */
function remedyFor(tags: string): string {
  if (tags.includes('W/"')) return withoutAddition('a weak tag (W/"...") never matches', 'W/')
  const [, suffix] = /"[^"]*?((?:--?|[;:])(?:br|deflate|gzip|zstd))"/i.exec(tags) ?? []
  if (suffix !== undefined) return withoutAddition(`a tag that ends in ${suffix} never matches`, suffix)
  return strongTags(tags).length > 0
    ? readAgain
    : 'If-Match has no tag in quotes: send the ETag as you got it, with its quotes'
}

const withoutAddition = (cause: string, addition: string): string =>
  `${cause}: a proxy that compresses makes such tags; send the tag without ${addition}, or turn its compression off`

const isAny = (tags: string | undefined): boolean => tags?.trim() === '*'

/** Ignores weak tags: they never match. */
const strongTags = (tags: string): string[] =>
  [...tags.matchAll(/(W\/)?("[^"]*")/g)].flatMap(([, weak, tag = '']) => (weak ? [] : [tag]))
