// The cookies and the key of a web session in the headers of a request.
import { Fault, invalidSchema, unauthenticated } from '../../../kernel/base/errors.ts'
import type { RequestInfo } from '../../../kernel/http/principal.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'

export const cookieName = 'svc_session'
const maxCookies = 64 // pages on other ports of the host can plant some

/**
 * Returns the hashes of the session cookies, in their order; none beside a bearer token. Throws `unauthenticated` for more
 * than 64, and makes the browser clear its cookies, so that the next login works.
 */
export function tokenHashesIn({ authorization, headers }: RequestInfo): readonly string[] {
  if (authorization !== undefined) return []
  const cookies = String(headers['cookie'] ?? '').split(';')
  const tokens = cookies.flatMap(cookie => /^\s*svc_session="?([^\s"]*)/.exec(cookie)?.[1] ?? [])
  if (tokens.length > maxCookies)
    throw new Fault(
      unauthenticated,
      `the request has ${tokens.length} cookies ${cookieName}, and may have ${maxCookies}; log in again`,
      { details: { clear_site_data: 'cookies' } }
    )
  return tokens.map(hashOf)
}

const headerName = 'X-Svc-Session-Key'

const keyIn = ({ headers }: Pick<RequestInfo, 'headers'>): string | undefined =>
  headers[headerName.toLowerCase()]?.toString()

/** Returns the hash of the session key, or null if the request has none. */
export const keyHashIn = (info: Pick<RequestInfo, 'headers'>): string | null => {
  const key = keyIn(info)
  return key === undefined ? null : hashOf(key)
}

/** Returns the hash for a new session, or null without the header. Throws for a malformed key. */
export function newKeyHash(info: Pick<RequestInfo, 'headers'>): string | null {
  const key = keyIn(info)
  if (key === undefined) return null
  if (/^[\w-]{22,86}$/.test(key)) return hashOf(key)
  throw new Fault(
    invalidSchema,
    `${headerName} must have 22 to 86 characters of A-Z a-z 0-9 - _, got ${key.length} characters`,
    { details: { field: headerName, reason: 'pattern' } }
  )
}
