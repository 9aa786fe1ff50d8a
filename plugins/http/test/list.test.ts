import t from 'tap'
import { Type } from 'typebox'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineList, type Listing } from '../exports.ts'
import { type HttpFixture, httpFixture, operator } from './fixture.ts'

const list = (url: string, listing: Listing<number>) =>
  defineList({
    url,
    action: `thing.${url.split('/').at(-1)}`,
    access: 'user',
    summary: 'Lists.',
    schema: () => ({
      query: Type.Object({ name: Type.Optional(Type.String()) }, { additionalProperties: false }),
      row: Type.Integer()
    }),
    run: async (_deps: Kernel) => listing
  })

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)
const keyOf = (row: number) => String(row).padStart(6, '0')

/** Returns a listing with pages by key, like that of a table. */
const table = (count: number): Listing<number> => ({
  page: async (after, take) =>
    upTo(count)
      .filter(row => keyOf(row) > after)
      .slice(0, take)
      .map(row => ({ key: keyOf(row), row }))
})

const routes = [
  list('/v1/array', upTo(25)),
  list('/v1/table', table(25)),
  list('/v1/long-array', upTo(10_001)),
  list('/v1/long-table', table(10_001))
]

const nextOf = (link: unknown) => /^<([^>]+)>; rel="next"$/.exec(String(link))?.[1]

async function pagesOf({ send }: HttpFixture, url: string) {
  const pages: number[][] = []
  for (let next: string | undefined = url; next !== undefined; ) {
    const { body, headers } = await send('GET', next, operator)
    pages.push(body as never)
    next = nextOf(headers['link'])
  }
  return pages
}

t.test('following the links gives every row once, in order', async t => {
  const app = await httpFixture(t, { routes })

  for (const url of ['/v1/array', '/v1/table']) {
    const pages = await pagesOf(app, `${url}?limit=10`)
    t.same(
      pages.map(page => page.length),
      [10, 10, 5],
      url
    )
    t.same(pages.flat(), upTo(25), url)
  }
})

t.test('a page that ends with the last row has no link', async t => {
  const { send } = await httpFixture(t, { routes })

  for (const url of ['/v1/array?limit=25', '/v1/table?limit=25', '/v1/array', '/v1/table'])
    t.equal((await send('GET', url, operator)).headers['link'], undefined, url)
})

t.test('the link keeps the other parameters', async t => {
  const { send } = await httpFixture(t, { routes })

  const { headers } = await send('GET', '/v1/table?name=a%26b&limit=2', operator)

  t.match(nextOf(headers['link']), /^\/v1\/table\?name=a%26b&limit=2&cursor=[\w-]+$/)
})

t.test('without limit a list returns at most 10,000 rows', async t => {
  const app = await httpFixture(t, { routes })

  for (const url of ['/v1/long-array', '/v1/long-table'])
    t.same(
      (await pagesOf(app, url)).map(page => page.length),
      [10_000, 1],
      url
    )
})

t.test('an invalid limit or cursor is refused with its own code', async t => {
  const { send } = await httpFixture(t, { routes })
  const errorOf = async (url: string, params: string) =>
    (await send('GET', `${url}?${params}`, operator)).body.error

  for (const limit of ['0', '1001', '-1', 'x', '', '1.5', '1&limit=2'])
    t.match(await errorOf('/v1/array', `limit=${limit}`), { code: 'invalid_limit' }, limit)
  const otherCursor =
    nextOf((await send('GET', '/v1/table?limit=1', operator)).headers['link'])?.split('cursor=')[1] ?? ''
  for (const cursor of ['', 'x', '!!!', 'QA', Buffer.from('@-1').toString('base64url'), otherCursor])
    t.match(await errorOf('/v1/array', `cursor=${cursor}`), { code: 'invalid_cursor' }, cursor)
  for (const cursor of ['', 'x', 'QDI'])
    t.match(await errorOf('/v1/table', `cursor=${cursor}`), { code: 'invalid_cursor' }, cursor)
})
