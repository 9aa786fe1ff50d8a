// Selectors: their syntax, and the rows that they match in each list.
import t from 'tap'
import { parseSelector } from '../selector.ts'
import { type LabelledReply, labelsFixture } from './fixture.ts'

t.test('terms are parsed like in Kubernetes', async t => {
  const term = (key: string, isNegated: boolean, values: readonly string[] | null) => ({
    key,
    isNegated,
    values
  })
  t.strictSame(parseSelector('env=prod,tier!=db,!old,zone in (a,b)'), [
    term('env', false, ['prod']),
    term('tier', true, ['db']),
    term('old', true, null),
    term('zone', false, ['a', 'b'])
  ])
  t.strictSame(parseSelector(' env == prod , example.com/x notin ( a , a ) , key , in in (in)'), [
    term('env', false, ['prod']),
    term('example.com/x', true, ['a']),
    term('key', false, null),
    term('in', false, ['in'])
  ])
  t.strictSame(parseSelector('env=,! x'), [term('env', false, ['']), term('x', true, null)])
})

t.test('an invalid selector is refused with the position and the remedy', async t => {
  for (const [text, position, message] of [
    ['', 1, 'a key such as env=prod is missing'],
    ['env=prod,', 10, 'a key'],
    [',env', 1, 'a key'],
    ['env=a b', 7, 'put a comma'],
    ['env=a=b', 6, 'put a comma'],
    ['a b', 3, 'put a comma'],
    ['env in a', 8, 'parentheses'],
    ['env in (a', 10, 'close'],
    ['env in ()', 9, 'a value is missing'],
    ['env=-a', 5, '-a is invalid: a value is'],
    ['a/b/c=d', 1, 'a/b/c is invalid: a key is'],
    ['env>1', 1, 'is invalid'],
    ['!env=a', 5, 'put a comma'],
    [Array.from({ length: 33 }, (_, i) => `k${i}`).join(','), 122, 'at most 32 terms'],
    [`k in (${Array.from({ length: 257 }, (_, i) => `v${i}`).join(',')})`, 1182, 'at most 256 values'],
    ['a'.repeat(4097), 4097, 'at most 4096 characters']
  ] as const)
    t.throws(
      () => parseSelector(text),
      { message: new RegExp(`at position ${position}: .*${message}`), details: { position } },
      text.slice(0, 40)
    )
})

t.test('each list returns the rows that match, with other filters, sort and paging', async t => {
  const { call, push, user, enroll, clientId } = await labelsFixture(t)
  const ids: string[] = []
  for (const [port, labels] of [
    [1, { env: 'prod', zone: 'a' }],
    [2, { env: 'prod', zone: 'b', old: '' }],
    [3, { env: 'dev' }],
    [4, {}],
    [5, { env: 'prod' }]
  ] as const)
    ids.push((await push({ listen_port: port, labels })).body.rule_id)
  const ports = async (query: string) =>
    (await call<{ listen_port: number }[]>('GET', `/v1/rules?${query}`)).body.map(row => row.listen_port)
  const select = (selector: string) => ports(new URLSearchParams({ selector }).toString())

  t.strictSame(await select('env=prod'), [1, 2, 5])
  t.strictSame(await select('env!=prod'), [3, 4])
  t.strictSame(await select('env'), [1, 2, 3, 5])
  t.strictSame(await select('!env'), [4])
  t.strictSame(await select('env=prod,!old'), [1, 5])
  t.strictSame(await select('zone in (a,b)'), [1, 2])
  t.strictSame(await select('zone notin (a)'), [2, 3, 4, 5])
  t.strictSame(await select('old='), [2])
  t.strictSame(await select('env=prod,env=dev'), [])
  t.strictSame(await ports('selector=env%3Dprod&sort=-listen_port'), [5, 2, 1])
  t.strictSame(await ports('selector=env%3Dprod&state=failed'), [])
  t.strictSame(await ports('selector=env&client=edge&owner=_operator'), [1, 2, 3, 5])
  const first = await call<{ listen_port: number }[]>('GET', '/v1/rules?selector=env%3Dprod&limit=2')
  const next = /<(.*)>/.exec(String(first.headers['link']))?.[1] ?? ''
  t.match(await call('GET', next), { status: 200, body: [{ listen_port: 5 }] })

  const ann = await user('ann')
  t.strictSame((await call<LabelledReply[]>('GET', '/v1/rules?selector=env', undefined, ann)).body, [])

  await enroll('other')
  await call('PATCH', `/v1/clients/${clientId}`, { labels: { env: 'prod' } })
  t.match((await call<LabelledReply[]>('GET', '/v1/clients?selector=env')).body, [{ client_id: clientId }])
  t.match((await call<object[]>('GET', '/v1/clients?selector=!env')).body, [{ client_name: 'other' }])
  await call('PATCH', '/v1/users/ann', { labels: { env: 'prod' } })
  t.match((await call<object[]>('GET', '/v1/users?selector=env')).body, [{ user_id: 'ann' }])
  const range = { user_id: 'ann', client_id: '*', listen_port_end: 9, protocols: ['tcp'] }
  await call('POST', '/v1/grants', { ...range, listen_port_start: 1, labels: { env: 'prod' } })
  await call('POST', '/v1/grants', { ...range, listen_port_start: 2 })
  t.match((await call<object[]>('GET', '/v1/grants?selector=env')).body, [{ listen_port_start: 1 }])
  t.match((await call<object[]>('GET', '/v1/grants?selector=!env&user_id=ann')).body, [
    { listen_port_start: 2 }
  ])
  t.match((await call<object[]>('GET', '/v1/users/me/grants?selector=env', undefined, ann)).body, [
    { listen_port_start: 1 }
  ])
  for (const list of ['rules', 'clients', 'users', 'grants'])
    t.match(await call('GET', `/v1/${list}?selector=env%3E1`), {
      status: 400,
      body: { error: { code: 'validation.selector', details: { field: '/selector', position: 1 } } }
    })
})
