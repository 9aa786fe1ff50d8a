import { Type } from 'typebox'
import { Fault, invalidCursor } from '../base/errors.ts'
import type { Database } from '../store/open.ts'
import type { Listing } from './listing.ts'

const cut = 10_000 // rows of an answer to a question without limit

export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, code: 'invalid_limit', description: 'Rows in one answer.' })
  ),
  cursor: Type.Optional(
    Type.String({ code: 'invalid_cursor', description: 'From the Link header of the page before.' })
  )
}

export interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

interface Page {
  readonly rows: readonly unknown[]
  readonly next: string | null
}

/** One page of a list: by key where the rows come by key, else by place. */
export async function pageOf(
  listing: Listing<unknown>,
  { limit: take = cut, cursor }: PageQuery,
  store: Pick<Database, 'read'>
): Promise<Page> {
  if (!('page' in listing)) {
    const start = cursor === undefined ? 0 : placeOf(cursor)
    const end = start + take
    return { rows: listing.slice(start, end), next: end < listing.length ? encode('@', String(end)) : null }
  }
  const after = cursor === undefined ? null : decode('=', cursor)
  const found = await store.read(em => listing.page(after, take + 1, em))
  const rows = found.slice(0, take)
  const last = rows.at(-1)
  return {
    rows: rows.map(({ row }) => row),
    next: found.length > take && last ? encode('=', last.key) : null
  }
}

/** The next page's address, relative: the same question with another cursor. */
export function nextLink(url: string, next: string): string {
  const [path = '', query = ''] = url.split('?', 2)
  const params = new URLSearchParams(query)
  params.set('cursor', next)
  return `<${path}?${params}>; rel="next"`
}

type Kind = '@' | '=' // a place, a key

const encode = (kind: Kind, text: string): string => Buffer.from(kind + text).toString('base64url')

function decode(kind: Kind, cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text[0] !== kind || encode(kind, text.slice(1)) !== cursor) throw notOurs()
  return text.slice(1)
}

function placeOf(cursor: string): number {
  const place = decode('@', cursor)
  if (!/^\d{1,15}$/.test(place)) throw notOurs()
  return Number(place)
}

const notOurs = () => new Fault(invalidCursor, 'the cursor is not of this list; take it from the Link header')
