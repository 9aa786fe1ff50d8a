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
    throw changed(etag ? `its ETag is ${etag}${weakText(ifMatch)}` : 'it has no ETag', etag)
  if (isAny(ifMatch) && etag === null) throw changed('there is none')
  if (isAny(ifNoneMatch) && etag) throw changed('there is one already', etag)
}

/** `etag` is the current one of the record. */
const changed = (why: string, etag?: string | null): Fault =>
  new Fault(
    resourceChanged,
    `the record is not as If-Match or If-None-Match says: ${why}; read it again`,
    etag ? { details: { etag } } : {}
  )

const weakText = (tags: string): string =>
  tags.includes('W/"')
    ? ', and a weak tag (W/"...") never matches: a proxy that compresses makes tags weak; send the tag without W/, or turn its compression off'
    : ''

const isAny = (tags: string | undefined): boolean => tags?.trim() === '*'

/** Ignores weak tags: they never match. */
const strongTags = (tags: string): string[] =>
  [...tags.matchAll(/(W\/)?("[^"]*")/g)].flatMap(([, weak, tag = '']) => (weak ? [] : [tag]))
