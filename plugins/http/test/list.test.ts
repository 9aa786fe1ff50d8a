import t from 'tap'
import { Type } from 'typebox'
import { defineList, type Listing } from '../../../kernel/http/list-route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
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

/** Rows by key, as a table has them. */
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

async function follow({ ask }: HttpFixture, url: string) {
  const pages: number[][] = []
  for (let next: string | undefined = url; next !== undefined; ) {
    const { body, headers } = await ask('GET', next, operator)
    pages.push(body as never)
    next = nextOf(headers['link'])
  }
  return pages
}

t.test('following the links gives every row once, in order', async t => {
  const it = await httpFixture(t, { routes })

  for (const url of ['/v1/array', '/v1/table']) {
    const pages = await follow(it, `${url}?limit=10`)
    t.same(
      pages.map(page => page.length),
      [10, 10, 5],
      url
    )
    t.same(pages.flat(), upTo(25), url)
  }
})

t.test('a page that ends with the last row has no link', async t => {
  const { ask } = await httpFixture(t, { routes })

  for (const url of ['/v1/array?limit=25', '/v1/table?limit=25', '/v1/array', '/v1/table'])
    t.equal((await ask('GET', url, operator)).headers['link'], undefined, url)
})

t.test('the link keeps the other parameters', async t => {
  const { ask } = await httpFixture(t, { routes })

  const { headers } = await ask('GET', '/v1/table?name=a%26b&limit=2', operator)

  t.match(nextOf(headers['link']), /^\/v1\/table\?name=a%26b&limit=2&cursor=[\w-]+$/)
})

t.test('without limit a list returns at most 10,000 rows', async t => {
  const it = await httpFixture(t, { routes })

  for (const url of ['/v1/long-array', '/v1/long-table'])
    t.same(
      (await follow(it, url)).map(page => page.length),
      [10_000, 1],
      url
    )
})

t.test('an invalid limit or cursor is refused with its own code', async t => {
  const { ask } = await httpFixture(t, { routes })
  const code = async (url: string, params: string) =>
    (await ask('GET', `${url}?${params}`, operator)).body.error

  for (const limit of ['0', '1001', '-1', 'x', '', '1.5', '1&limit=2'])
    t.match(await code('/v1/array', `limit=${limit}`), { code: 'invalid_limit' }, limit)
  const ofTable =
    nextOf((await ask('GET', '/v1/table?limit=1', operator)).headers['link'])?.split('cursor=')[1] ?? ''
  for (const cursor of ['', 'x', '!!!', 'QA', Buffer.from('@-1').toString('base64url'), ofTable])
    t.match(await code('/v1/array', `cursor=${cursor}`), { code: 'invalid_cursor' }, cursor)
  for (const cursor of ['', 'x', 'QDI'])
    t.match(await code('/v1/table', `cursor=${cursor}`), { code: 'invalid_cursor' }, cursor)
})
