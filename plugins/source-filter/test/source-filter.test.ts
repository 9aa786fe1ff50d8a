// The rule fields and the lists in both halves: a server, and an agent on a fake engine.
import t, { type Test } from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'
import { entryLines } from '../commands.ts'
import { includes, pack, unpack } from '../packed-prefixes.ts'

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  let port = 8080
  const push = (fields: object) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: port++,
      targets: [{ host: '10.0.0.1', port: 80 }],
      ...fields
    })
  const patch = (id: string, body: object) => server.call('PATCH', `/v1/rules/${id}`, body)
  const setList = (name: string, entries: readonly string[]) =>
    server.call('PUT', `/v1/source-lists/${name}`, { entries })
  /** Returns the entries in the allow and deny sets of the newest rule. */
  const judged = (): object => {
    const guards = [...agent.engine.rules.values()].at(-1)?.addressGuards ?? []
    const guard = guards.find(({ refusal }) => refusal === 'source_denied')
    const entries = (names: readonly string[] | null | undefined) =>
      names?.flatMap(name => [...(agent.engine.addresses.get(name) ?? [])])
    return { allow: entries(guard?.allow), deny: entries(guard?.deny), refusal: guard?.refusal }
  }
  return { server, agent, push, patch, setList, judged }
}

t.test('both fields share one guard in the engine, and its sets follow changes', async t => {
  const { agent, push, patch, judged } = await openApp(t)
  const { status, body } = await push({
    allow_sources: ['10.1.2.3/8', '2001:DB8::/32'],
    deny_sources: ['10.0.0.9']
  })
  t.match(
    { status, body },
    { status: 201, body: { allow_sources: ['10.0.0.0/8', '2001:db8::/32'], deny_sources: ['10.0.0.9'] } }
  )
  const refusal = 'source_denied'
  t.same(judged(), { allow: ['10.0.0.0/8', '2001:db8::/32'], deny: ['10.0.0.9'], refusal })

  await patch(body.rule_id, { allow_sources: ['192.0.2.0/24', '10.0.0.0/8'] })
  t.same(judged(), { allow: ['10.0.0.0/8', '192.0.2.0/24'], deny: ['10.0.0.9'], refusal })
  t.equal(agent.engine.opened.length, 1, 'the engine rule continues')
  await patch(body.rule_id, { allow_sources: null, deny_sources: [] })
  const guards = agent.engine.filtersSet.at(-1)?.filters.addressGuards ?? []
  t.notOk(guards.some(guard => guard.refusal === refusal))
  t.same(
    [...agent.engine.addresses.values()].map(set => set.size),
    [0, 0],
    'nothing is left in the engine'
  )
})

t.test('an empty allowlist does not let everybody in', async t => {
  const { agent, push, patch } = await openApp(t)
  const refused = {
    status: 400,
    body: { error: { code: 'validation.sources', details: { field: '/allow_sources' } } }
  }
  t.match(await push({ allow_sources: [] }), refused)
  t.equal(agent.engine.opened.length, 0)

  const { body } = await push({ allow_sources: ['10.0.0.0/8'] })
  t.match(await patch(body.rule_id, { allow_sources: [] }), refused)
})

t.test('rules share lists, and get every change of a list', async t => {
  const { server, agent, push, setList, judged } = await openApp(t)
  t.match(await setList('office', ['192.0.2.7', '2001:db8::/48', '192.0.2.7/32']), {
    status: 200,
    body: { name: 'office', entry_count: 2, rule_count: 0, entries: ['192.0.2.7', '2001:db8::/48'] }
  })
  await push({ allow_sources: ['@office', '10.0.0.1'] })
  t.match(judged(), { allow: ['10.0.0.1', '192.0.2.7', '2001:db8::/48'] })
  const guards = [...agent.engine.rules.values()][0]?.addressGuards ?? []
  const [, lists = ''] = guards.find(({ refusal }) => refusal === 'source_denied')?.allow ?? []

  t.match(await setList('office', ['198.51.100.0/24']), { body: { rule_count: 1 } })
  // Agents receive messages in order: if the rule is in force, so is the list.
  const other = await push({})
  t.equal(other.status, 201)
  t.same(agent.engine.addresses.get(lists), new Set(['198.51.100.0/24']))
  t.match(await server.call('GET', '/v1/source-lists'), {
    body: [{ name: 'office', entry_count: 1, rule_count: 1 }]
  })

  agent.engine.addresses.clear()
  await agent.restart()
  t.same(agent.engine.addresses.get(lists), new Set(['198.51.100.0/24']), 'the agent has stored it')
})

t.test('an empty allow list admits nobody', async t => {
  const { push, setList, judged } = await openApp(t)
  await setList('nobody', [])
  await push({ allow_sources: ['@nobody'] })
  t.match(judged(), { allow: [] })
})

t.test('a list that a rule names is not deleted', async t => {
  const { server, push, patch, setList } = await openApp(t)
  await setList('office', ['192.0.2.7'])
  const { body } = await push({ deny_sources: ['@office'] })
  const remove = () => server.call('DELETE', '/v1/source-lists/office')
  t.match(await remove(), {
    status: 409,
    body: { error: { code: 'source_list_in_use', details: { rule_id: body.rule_id } } }
  })
  await patch(body.rule_id, { deny_sources: null })
  t.match(await remove(), { status: 204 })
  t.match(await remove(), { status: 404, body: { error: { code: 'source_list_not_found' } } })
  t.match(await server.call('GET', '/v1/source-lists/office'), { status: 404 })
})

t.test('an invalid entry is refused with its position', async t => {
  const { push, setList } = await openApp(t)
  for (const [body, field] of [
    [{ allow_sources: ['example.org'] }, '/allow_sources/0'],
    [{ allow_sources: ['10.0.0.1', '10.0.0.0/33'] }, '/allow_sources/1'],
    [{ deny_sources: ['fe80::1%eth0'] }, '/deny_sources/0'],
    [{ deny_sources: ['@unknown'] }, '/deny_sources/0'],
    [{ deny_sources: ['@Not a name'] }, '/deny_sources/0'],
    [{ deny_sources: '10.0.0.1' }, '/deny_sources'],
    [{ allow_sources: Array(257).fill('10.0.0.1') }, '/allow_sources']
  ] as const)
    t.match(
      await push(body),
      { status: 400, body: { error: { code: 'validation.sources', details: { field } } } } as object,
      JSON.stringify(body).slice(0, 60)
    )
  t.match(await setList('a', ['10.0.0.1', '@b']), {
    status: 400,
    body: { error: { code: 'validation.sources', details: { field: '/entries/1' } } }
  })
})

t.test('the lists of a rule share one limit', async t => {
  const { push, setList } = await openApp(t)
  const many = (third: number) =>
    Array.from({ length: 20_001 }, (_, i) => `10.${third + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`)
  await setList('one', many(0))
  t.match(await setList('other', many(8)), { status: 200 })
  t.match(await push({ deny_sources: ['@one', '@other'] }), {
    status: 422,
    body: { error: { code: 'limit_reached' } }
  })
  t.match(await push({ deny_sources: ['@one'] }), { status: 201 })
})

t.test('prefixes survive packing and unpacking', async t => {
  const all = [
    '0.0.0.0/0',
    '10.0.0.0/8',
    '192.0.2.128/25',
    '192.0.2.7',
    '::/0',
    '2001:db8::/29',
    '2001:db8::1'
  ]
  t.same(unpack(pack(all)), all)
  t.same(unpack(pack(all).subarray(0, 6)), ['0.0.0.0/0', '10.0.0.0/8'], 'a truncated entry is ignored')
  t.same(unpack(Uint8Array.of(33, 1, 2, 3, 4, 5)), [])
})

t.test('includes finds addresses in packed prefixes', async t => {
  const packed = pack(['10.0.0.0/9', '192.0.2.7', '2001:db8::/29'])
  for (const address of ['10.127.255.255', '192.0.2.7', '::ffff:192.0.2.7', '2001:dbf:ffff::1'])
    t.ok(includes(packed, address), address)
  for (const address of ['10.128.0.0', '192.0.2.6', '2001:dc0::', '::1', 'a00::'])
    t.notOk(includes(packed, address), address)
  t.ok(includes(pack(['0.0.0.0/0']), '203.0.113.1'))
  t.notOk(includes(pack(['0.0.0.0/0']), '::1'), '0.0.0.0/0 contains no IPv6 address')
})

t.test('a file has one entry per line, and comments', async t => {
  t.same(entryLines('# office\n192.0.2.7  # the door\n\n 2001:db8::/32 \r\n'), ['192.0.2.7', '2001:db8::/32'])
})
