import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineList, type Listing } from '../exports.ts'
import { httpFixture, superadmin } from './fixture.ts'

const Row = Type.Object({
  name: Type.String(),
  size: Type.Union([Type.Integer(), Type.Null()]),
  state: Type.Union([Type.Literal('on'), Type.Literal('off')]),
  big: Type.Boolean(),
  tags: Type.Array(Type.String())
})
type Row = Type.Static<typeof Row>

const row = (name: string, size: number | null, state: Row['state']): Row => ({
  ...{ name, size, state, tags: [] },
  big: (size ?? 0) > 9
})
const rows = [row('b', 10, 'on'), row('a', 9, 'off'), row('d', null, 'on'), row('c', 100, 'on')]

/** Rows by key. `reads` records the size of each read. */
const paged = (all: readonly Row[], reads: number[] = []): Listing<Row> => ({
  async page(after, take) {
    reads.push(take)
    return all
      .map((row, i) => ({ key: String(i).padStart(6, '0'), row }))
      .filter(({ key }) => key > after || after === '')
      .slice(0, take)
  }
})

async function listOf(t: Test, listing: Listing<Row>) {
  const list = defineList({
    url: '/v1/things',
    action: 'thing.list',
    access: 'user',
    summary: 'Lists.',
    schema: () => ({
      query: Type.Object({ big: Type.Optional(Type.String()) }, { additionalProperties: false }),
      row: Row
    }),
    run: async (_: Kernel) => listing
  })
  const { send } = await httpFixture(t, { routes: [list] })
  return async (query: string) => {
    const { status, body, headers } = await send('GET', `/v1/things?${query}`, superadmin)
    const names = Array.isArray(body) ? body.map(({ name }: Row) => name).join('') : ''
    return { status, body, names, link: String(headers['link'] ?? '') }
  }
}

t.test('a list is sorted by a property, and filtered by one with known values', async t => {
  for (const [kind, listing] of [
    ['array', rows],
    ['pages', paged(rows)]
  ] as const) {
    const list = await listOf(t, listing)
    const cases = [
      ['', 'badc'],
      ['sort=name', 'abcd'],
      ['sort=-name', 'dcba'],
      ['sort=size', 'abcd'],
      ['sort=-size', 'cbad'],
      ['state=on', 'bdc'],
      ['state=on&sort=name', 'bcd'],
      ['state=on&sort=-size', 'cbd'],
      ['big=1', 'badc'] // the route's own parameter of that name
    ]
    for (const [query = '', names] of cases) t.equal((await list(query)).names, names, `${kind}: ${query}`)
  }
})

t.test('pages follow one another in the order, and within the filter', async t => {
  for (const [kind, listing] of [
    ['array', rows],
    ['pages', paged(rows)]
  ] as const) {
    const list = await listOf(t, listing)
    for (const query of ['sort=name', 'state=on', 'state=on&sort=-size']) {
      const all = (await list(query)).names
      let seen = ''
      for (let next: string | undefined = `${query}&limit=1`; next !== undefined; ) {
        const { names, link } = await list(next)
        seen += names
        next = /\?([^>]*)>; rel="next"/.exec(link)?.[1]
      }
      t.equal(seen, all, `${kind}: ${query}`)
    }
  }
})

t.test('a value that is not known names the parameter and the values', async t => {
  const list = await listOf(t, rows)

  t.match(await list('sort=weight'), {
    status: 400,
    body: { error: { code: 'validation.schema', message: /^\/sort must be one of name, -name, size,/ } }
  })
  t.match(await list('state=idle'), {
    status: 400,
    body: { error: { code: 'validation.schema', message: '/state must be one of on, off' } }
  })
  t.match(await list('sort=tags'), { status: 400 })
  t.match(await list('tags=x'), { status: 400, body: { error: { code: 'validation.unknown_parameter' } } })
})

t.test('a filter that leaves few rows reads many at once; a list that is too long is not sorted', async t => {
  const many = Array.from({ length: 10_001 }, (_, i) => row(`${i}`, i, i === 10_000 ? 'off' : 'on'))
  const reads: number[] = []
  const list = await listOf(t, paged(many, reads))

  t.equal((await list('state=off&limit=1')).names, '10000')
  t.equal(reads.length, 11)
  t.match(await list('sort=name'), { status: 422, body: { error: { code: 'limit_reached' } } })
  t.match(await list('sort=name&state=off'), { status: 200, names: '10000' })
})
