import t from 'tap'
import { Type } from 'typebox'
import { Fault, userNotFound } from '../../../kernel/base/errors.ts'
import { defineRoute, type Resource } from '../../../kernel/http/route.ts'
import { User } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { httpFixture, superadmin } from './fixture.ts'

const resourceOf = (id: string): Resource => ({
  kind: 'user',
  id,
  async version(em) {
    const found = await em.findOne(User, { id })
    return found && [found.displayName]
  }
})
const url = '/v1/names/:id'
const params = Type.Object({ id: Type.String() })

const routes = [
  defineRoute({
    method: 'GET',
    url,
    action: 'name.read',
    access: 'user',
    summary: 'Reads.',
    schema: () => ({ params, reply: Type.Unknown() }),
    record: ({ id }) => resourceOf(id),
    run: ({ store }: Kernel, { params: { id } }) => store.read(em => em.findOne(User, { id }))
  }),
  defineRoute({
    method: 'PUT',
    url,
    action: 'name.put',
    access: 'user',
    summary: 'Creates or changes.',
    schema: () => ({ params, body: Type.Unknown(), reply: Type.Unknown() }),
    run: (_: Kernel, { params: { id }, body, change }) =>
      change(resourceOf(id), em =>
        em.upsert(User, { id, displayName: String(body), role: 'user', disabled: false, createdAt: 1 })
      )
  }),
  defineRoute({
    method: 'DELETE',
    url,
    action: 'name.remove',
    access: 'user',
    status: 204,
    summary: 'Deletes.',
    schema: () => ({ params, reply: Type.Void() }),
    run: (_: Kernel, { params: { id }, change }) =>
      change(resourceOf(id), async em => {
        if ((await em.nativeDelete(User, { id })) === 0) throw new Fault(userNotFound, `no ${id}`)
      })
  })
]

const json = { ...superadmin, 'content-type': 'application/json' }
const changed = { status: 412, body: { error: { code: 'resource_changed' } } }

t.test('a read and a change answer with the same ETag, until the next change', async t => {
  const { send } = await httpFixture(t, { routes })

  const put = await send('PUT', '/v1/names/bob', json, '"one"')
  const read = await send('GET', '/v1/names/bob', superadmin)
  const next = await send('PUT', '/v1/names/bob', json, '"two"')

  t.match(put.headers['etag'], /^"[0-9a-f]{16}"$/)
  t.equal(read.headers['etag'], put.headers['etag'])
  t.not(next.headers['etag'], put.headers['etag'])
})

t.test('the second of two writers that read the same version changes nothing', async t => {
  const { send, decisions } = await httpFixture(t, { routes })
  const { etag } = (await send('GET', '/v1/names/bob', superadmin)).headers

  const first = await send('PUT', '/v1/names/bob', { ...json, 'if-match': etag }, '"first"')
  const second = await send('PUT', '/v1/names/bob', { ...json, 'if-match': etag }, '"second"')

  t.equal(first.status, 200)
  t.match(second, changed)
  t.match(second, { body: { error: { details: { etag: first.headers['etag'] } } } })
  t.equal(second.headers['etag'], first.headers['etag'], 'the present one')
  t.match((await send('GET', '/v1/names/bob', superadmin)).body, { displayName: 'first' })
  t.match(await send('DELETE', '/v1/names/bob', { ...superadmin, 'if-match': etag }), changed)
  t.match(decisions.at(-1), { status: 412, reason: 'resource_changed', outcome: 'allow' })
})

t.test('without If-Match the last writer wins', async t => {
  const { send } = await httpFixture(t, { routes })

  for (const name of ['one', 'two'])
    t.equal((await send('PUT', '/v1/names/bob', json, JSON.stringify(name))).status, 200)
  t.match((await send('GET', '/v1/names/bob', superadmin)).body, { displayName: 'two' })
})

t.test('conditions are read as RFC 9110 says', async t => {
  const { send } = await httpFixture(t, { routes })
  const read = async () => String((await send('GET', '/v1/names/bob', superadmin)).headers['etag'])
  const cases = [
    ['a list that has the tag', 'bob', (tag: string) => ({ 'if-match': `"x", ${tag},"y"` }), 200],
    ['any tag of a record', 'bob', () => ({ 'if-match': ' * ' }), 200],
    ['any tag, without a record', 'eve', () => ({ 'if-match': '*' }), 412],
    ['a tag, without a record', 'eve', (tag: string) => ({ 'if-match': tag }), 412],
    ['a weak tag', 'bob', (tag: string) => ({ 'if-match': `W/${tag}` }), 412],
    ['a tag without quotes', 'bob', (tag: string) => ({ 'if-match': tag.replaceAll('"', '') }), 412],
    ['an empty list', 'bob', () => ({ 'if-match': '' }), 412],
    ['creation only, of a record that exists', 'bob', () => ({ 'if-none-match': '*' }), 412],
    ['creation only, of a new record', 'eve', () => ({ 'if-none-match': '*' }), 200]
  ] as const
  for (const [title, id, headersOf, status] of cases) {
    const headers = { ...json, ...headersOf(await read()) }
    t.equal((await send('PUT', `/v1/names/${id}`, headers, `"${title}"`)).status, status, title)
  }
})

t.test('a tag that a proxy has made weak is refused with its reason and the remedy', async t => {
  const { send } = await httpFixture(t, { routes })
  const { etag } = (await send('GET', '/v1/names/bob', superadmin)).headers

  const weak = await send('PUT', '/v1/names/bob', { ...json, 'if-match': `W/${etag}` }, '"x"')

  t.match(weak, changed)
  t.match(weak, {
    body: { error: { message: /a weak tag .* never matches: .* send the tag without W\/, or/ } }
  })
  const stale = await send('PUT', '/v1/names/bob', { ...json, 'if-match': '"x"' }, '"x"')
  t.match(stale, { body: { error: { message: /^(?!.*weak)/ } } })
})

t.test('a tag that can never match is refused with its cause and the remedy', async t => {
  const { send } = await httpFixture(t, { routes })
  const { etag } = (await send('GET', '/v1/names/bob', superadmin)).headers
  const tag = String(etag).slice(1, -1)

  for (const [ifMatch, message] of [
    [`"${tag}-gzip"`, /ends in -gzip never matches: a proxy .* send the tag without -gzip, or/],
    [`"x", "${tag}--gzip"`, /send the tag without --gzip, or/],
    [`"${tag};br"`, /send the tag without ;br, or/],
    [tag, /no tag in quotes: send the ETag as you got it, with its quotes$/],
    [`'${tag}'`, /no tag in quotes/],
    [`"${tag}`, /no tag in quotes/],
    ['nonsense', /no tag in quotes/],
    ['', /no tag in quotes/],
    ['"x"', /^(?!.*(never matches|quotes)).*read it again$/]
  ] as const) {
    const refused = await send('PUT', '/v1/names/bob', { ...json, 'if-match': ifMatch }, '"x"')
    t.match(refused, changed, ifMatch)
    t.match(refused, { body: { error: { message } } }, ifMatch)
  }
})

t.test('a record that is missing is reported before a condition that does not hold', async t => {
  const { send } = await httpFixture(t, { routes })

  t.match(await send('DELETE', '/v1/names/nobody', { ...superadmin, 'if-match': '"x"' }), { status: 404 })
})

t.test('a condition on a record without versions does not hold', async t => {
  const [, put] = routes as [unknown, (typeof routes)[1]]
  const plain = {
    ...put,
    run: (_: Kernel, { change }: Parameters<typeof put.run>[1]) =>
      change({ kind: 'x', id: 'x' }, async () => 1)
  }
  const { send } = await httpFixture(t, { routes: [plain as typeof put] })

  t.match(await send('PUT', '/v1/names/x', { ...json, 'if-match': '"x"' }, '1'), changed)
  t.match(await send('PUT', '/v1/names/x', json, '1'), { status: 200, headers: { etag: undefined } })
})
