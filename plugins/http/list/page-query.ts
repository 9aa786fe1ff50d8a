import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Fault } from '../../../kernel/base/errors.ts'
import { invalidCursor } from '../codes.ts'
import type { HttpOptions } from '../settings.ts'
import { isSorted, queried } from './list-query.ts'
import type { Listing } from './list-route.ts'

const defaultLimit = 10_000 // rows

export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, code: 'invalid_limit', description: 'Rows in one response.' })
  ),
  cursor: Type.Optional(
    Type.String({ code: 'invalid_cursor', description: 'From the Link header of the previous page.' })
  )
}

/** The members of `pageQuery`; the others are filters and parameters of the route. */
interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly sort?: string
  readonly [parameter: string]: unknown
}

/** Returns one page of a list and sets the Link header. Cursors hold the last key or an offset. */
export async function pageOf(
  listing: Listing<unknown>,
  { query, url, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  store: HttpOptions['store']
): Promise<readonly unknown[]> {
  const { limit = defaultLimit, cursor, sort, ...rest } = query as PageQuery
  const own = routeOptions.config.query
  const isOwn = (name: string): boolean => Type.IsObject(own) && name in own.properties
  const filters = Object.fromEntries(Object.entries(rest).filter(([name]) => !isOwn(name)))
  const found = queried(listing, { ...(sort !== undefined && !isOwn('sort') && { sort }), filters })
  const { rows, next } = await (isSorted(found)
    ? store.read(async em => pageByOffset(await found.all(em), limit, cursor))
    : 'page' in found
      ? store.read(em => pageByKey(key => found.page(key, limit + 1, em), limit, cursor))
      : pageByOffset(found, limit, cursor))
  if (next !== null) {
    const [path = '', params] = url.split('?', 2)
    const others = new URLSearchParams(params)
    others.set('cursor', next)
    reply.header('link', `<${path}?${others}>; rel="next"`)
  }
  return rows
}

interface Page {
  readonly rows: readonly unknown[]
  readonly next: string | null
}

type Read = (after: string) => Promise<readonly { key: string; row: unknown }[]>

async function pageByKey(read: Read, limit: number, cursor: string | undefined): Promise<Page> {
  const found = await read(cursor === undefined ? '' : decode('=', cursor))
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : undefined
  return { rows: rows.map(({ row }) => row), next: last ? encode('=', last.key) : null }
}

function pageByOffset(all: readonly unknown[], limit: number, cursor = encode('@', '0')): Page {
  const offset = decode('@', cursor)
  if (!/^\d{1,15}$/.test(offset)) throw invalid()
  const end = Number(offset) + limit
  return { rows: all.slice(Number(offset), end), next: end < all.length ? encode('@', String(end)) : null }
}

type Kind = '@' | '=' // offset or key

const encode = (kind: Kind, text: string): string => Buffer.from(kind + text).toString('base64url')

function decode(kind: Kind, cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text[0] !== kind || encode(kind, text.slice(1)) !== cursor) throw invalid()
  return text.slice(1)
}

const invalid = () =>
  new Fault(invalidCursor, 'the cursor does not belong to this list; take it from the Link header')
