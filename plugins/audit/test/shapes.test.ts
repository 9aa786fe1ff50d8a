import t from 'tap'
import { auditFixture } from './fixture.ts'

t.test('limit and outcome, or no parameter, return an array without a Link header', async t => {
  const { call, as, clock } = await auditFixture(t)
  for (const id of ['a', 'b', 'c']) {
    await call('POST', `/v1/things/${id}`, undefined, as('ann'))
    await clock.advance(1)
  }
  await call('GET', '/v1/audit', undefined, as('ann'))

  for (const [query, ids] of [
    ['', [null, 'c', 'b', 'a']],
    ['?limit=2', [null, 'c']],
    ['?outcome=allow', ['c', 'b', 'a']],
    ['?outcome=deny&limit=10', [null]]
  ] as const) {
    const { body, headers } = await call<{ resource_id: string | null }[]>('GET', `/v1/audit${query}`)
    t.same(
      body.map(entry => entry.resource_id),
      ids,
      query
    )
    t.equal(headers['link'], undefined)
  }
})

t.test('since, until or cursor return a page', async t => {
  const { call, as, page, clock } = await auditFixture(t)
  for (const id of ['a', 'b', 'c']) {
    await call('POST', `/v1/things/${id}`, undefined, as('ann'))
    await clock.advance(1000)
  }
  const found = async (query: string) => {
    const { entries, count, next_cursor } = await page(query)
    t.equal(count, entries.length, query)
    t.equal(next_cursor, undefined, query)
    return entries.map(({ resource_id }) => resource_id)
  }

  t.same(await found('cursor='), ['c', 'b', 'a'])
  t.same(await found('since=2026-01-15T12:00:01Z'), ['c', 'b'])
  t.same(await found('until=2026-01-15T12:00:01Z'), ['b', 'a'], 'both ends are inclusive')
  t.same(await found('since=2026-01-15T13:00:01%2B01:00&until=2026-01-15T12:00:01.000Z'), ['b'])
  t.same(await found('since=2026-01-15T12:00:01Z&outcome=deny'), [])
  t.same(await found('since=2027-01-01T00:00:00Z'), [])
})

t.test('pages have no gap and no repeat, even if entries are written between two requests', async t => {
  const { call, as, page } = await auditFixture(t)
  for (let i = 0; i < 7; i++) await call('POST', `/v1/things/t${i}`, undefined, as('ann')) // at the same time
  const seen: (string | null)[] = []

  let cursor: string | undefined = ''
  for (let i = 0; cursor !== undefined; i++) {
    const { entries, next_cursor } = await page(`cursor=${cursor}&limit=3`)
    seen.push(...entries.map(({ resource_id }) => resource_id))
    cursor = next_cursor
    await call('POST', `/v1/things/new${i}`, undefined, as('ann'))
  }

  t.same(seen, ['t6', 't5', 't4', 't3', 't2', 't1', 't0'])
})

t.test('a full last page has no cursor', async t => {
  const { call, as, page } = await auditFixture(t)
  for (const id of ['a', 'b']) await call('POST', `/v1/things/${id}`, undefined, as('ann'))

  t.match(await page('cursor=&limit=2'), { count: 2, next_cursor: undefined })
})

t.test('each invalid parameter is refused with its code', async t => {
  const { call } = await auditFixture(t)

  const table = [
    ['limit=0', 'invalid_limit'],
    ['limit=1001', 'invalid_limit'],
    ['limit=ten', 'invalid_limit'],
    ['outcome=maybe', 'invalid_outcome'],
    ['outcome=', 'invalid_outcome'],
    ['cursor=abc', 'invalid_cursor'],
    ['cursor=MDAxNzY4NDc4NDAwMDAwIDAxTTdaMjZKUlNLS1dZUVlaTjZTM0RZTVZ!', 'invalid_cursor'],
    ['since=yesterday', 'invalid_timestamp'],
    ['since=2026-02-30T00:00:00Z', 'invalid_timestamp'],
    ['since=9999-12-31T23:59:59-01:00', 'invalid_timestamp'],
    ['since=0001-01-01T00:00:00%2B01:00', 'invalid_timestamp'],
    ['since=2026-01-15T12:00:00', 'invalid_timestamp'],
    ['until=1768478400', 'invalid_timestamp'],
    ['since=2026-01-15T12:00:01Z&until=2026-01-15T12:00:00Z', 'invalid_time_range'],
    ['outcom=deny', 'validation.unknown_parameter']
  ] as const
  for (const [query, code] of table) {
    const { status, body } = await call('GET', `/v1/audit?${query}`)
    t.match({ status, body }, { status: 400, body: { error: { code } } }, query)
  }
})

t.test('actor, action, resource and request_id filter entries, alone and together', async t => {
  const { call, as, entries } = await auditFixture(t)
  await call('POST', '/v1/things/a', undefined, { ...as('ann'), 'x-request-id': 'first' })
  await call('POST', '/v1/things/b', undefined, { ...as('root'), 'x-request-id': 'second' })
  const [newest] = await entries('')
  const action = newest?.action ?? ''
  const found = async (query: string) => (await entries(query)).map(({ resource_id }) => resource_id)

  t.same(await found('?actor=ann'), ['a'])
  t.same(await found(`?action=${action}`), ['b', 'a'])
  t.same(await found(`?action=${action.replace(/\.\w+$/, '.*')}&actor=root`), ['b'])
  t.same(await found('?action=thin.*'), [], 'a prefix matches whole words only')
  t.same(await found('?resource=a'), ['a'])
  t.same(await found('?resource=the-b'), ['b'], 'by the name that it had')
  t.same(await found('?resource=a&actor=root'), [])
  t.same(await found(`?request_id=${newest?.request_id}`), ['b'])
})
