// Both halves: the bans of one tenant leave room for those of operators and of other tenants.
import t, { type Test } from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'
import { until } from '../../rules/test/fixture.ts'
import { Ban } from '../entities.ts'
import { maxBansPerRule, maxOperatorBans, maxRuleBans, repeatMs } from '../wire.ts'

interface Record {
  readonly ban_id: string
  readonly source: string
  readonly rule_id: string | null
}

const sourceOf = (at: number): string => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`

const floodSize = 1_000

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  for (const user_id of ['ann', 'bob'])
    await server.call('POST', '/v1/users', { user_id, display_name: user_id })
  let port = 8080
  const pushAs = async (owner: string): Promise<string> => {
    const { body } = await server.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'edge',
      owner,
      listen_port: port++,
      targets: [{ host: '10.0.0.1', port: 80 }],
      ban: { new_connections: 10 }
    })
    return body.rule_id
  }
  const list = async (query = '') => (await server.call<Record[]>('GET', `/v1/bans${query}`)).body
  const denied = (ruleId = '') => [
    ...(agent.engine.addresses.get(ruleId === '' ? 'bans' : `bans ${ruleId}`) ?? [])
  ]
  /** The engine reports that each of the sources exceeds the limit of the rule. */
  const over = async (ruleId: string, sources: readonly string[]): Promise<void> => {
    const limit = `bans new_connections ${ruleId}`
    const [id] = [...agent.engine.rules].find(([, rule]) => rule.sourceLimits[0]?.name === limit) ?? []
    if (id === undefined) throw new TypeError('the rule is not open')
    agent.engine.emit(...sources.map(source => ({ kind: 'source-over' as const, ruleId: id, source, limit })))
    await server.clock.advance(50)
  }
  /** 1,000 sources exceed the limit of the rule, as fast as a rule can ban them. */
  const flood = async (ruleId: string): Promise<void> => {
    for (let first = 0; first < floodSize; first += 100) {
      await over(
        ruleId,
        Array.from({ length: 100 }, (_, i) => sourceOf(first + i))
      )
      await server.clock.advance(2_000)
    }
  }
  /** Advances the time until the list of bans fits. */
  const listed = (query: string, fits: (bans: readonly Record[]) => boolean) =>
    until(async () => {
      await server.clock.advance(1_000) // the agent runs on the server's clock
      return list(query)
    }, fits)
  /** Stores bans of a rule as if its agent had reported them long ago. */
  const store = (ruleId: string, owner: string, count: number, more: Partial<Ban> = {}) =>
    server.server.depsOf('bans').store.change(em =>
      em.insertMany(
        Ban,
        Array.from({ length: count }, (_, i) => ({
          id: `01K${more.cause === 'operator' ? 'A' : 'B'}${String(i).padStart(16, '0')}${ruleId.slice(-6)}`,
          clientId: agent.clientId,
          ruleId,
          owner,
          source: sourceOf(i),
          cause: 'new_connections' as const,
          live: 'cut' as const,
          times: 1,
          reason: null,
          madeBy: null,
          fromMs: server.clock.now(),
          untilMs: server.clock.now() + 600_000,
          liftedAt: null,
          liftedBy: null,
          isSent: false,
          ...more
        }))
      )
    )
  return { server, agent, pushAs, list, listed, denied, over, flood, store }
}

t.test('a rule that bans many sources lifts no ban of an operator or of another rule', async t => {
  const { server, pushAs, denied, over, flood, listed } = await openApp(t)
  const ofAnn = await pushAs('ann')
  const ofBob = await pushAs('bob')
  await server.call('POST', '/v1/bans', { source: '203.0.113.99', for_secs: 60 })
  await over(ofBob, ['192.0.2.1'])

  await flood(ofAnn)

  t.same(denied(), ['203.0.113.99'])
  t.same(denied(ofBob), ['192.0.2.1'])
  t.equal(denied(ofAnn).length, maxBansPerRule)
  t.ok(denied(ofAnn).includes(sourceOf(floodSize - 1)), 'the newest stay')
  t.equal((await server.call('POST', '/v1/bans', { source: '203.0.113.98' })).status, 201)
  t.same(denied().includes('203.0.113.98'), true)
  await listed(`?rule_id=${ofBob}`, bans => bans.some(({ source }) => source === '192.0.2.1'))
})

t.test('the rules of an owner ban at most 100 sources at once, and 50 a second', async t => {
  const { pushAs, denied, over, server } = await openApp(t)
  const rule = await pushAs('ann')
  const other = await pushAs('ann')
  const ofBob = await pushAs('bob')
  const sources = Array.from({ length: 300 }, (_, i) => sourceOf(i))

  await over(rule, sources)
  t.equal(denied(rule).length, 100)
  await over(other, sources)
  t.ok(denied(other).length <= 3, 'what came back in the 50 ms between')
  await over(ofBob, sources.slice(0, 50))
  t.equal(denied(ofBob).length, 50, 'another owner has its own')

  await server.clock.advance(1_000)
  await over(rule, sources)
  t.ok(denied(rule).length >= 150 && denied(rule).length <= 156)
})

t.test('the log lines of one owner about bans do not suppress those of another', async t => {
  const { pushAs, over, agent } = await openApp(t)
  const rules = [await pushAs('ann'), await pushAs('ann')]
  const ofBob = await pushAs('bob')

  for (const rule of rules)
    await over(
      rule,
      Array.from({ length: 40 }, (_, i) => sourceOf(i))
    )
  await over(ofBob, ['192.0.2.1'])

  const made = agent.log.filter(({ event }) => event === 'ban.made').map(({ fields }) => fields['rule'])
  t.equal(made.filter(rule => rules.includes(String(rule))).length, 20)
  t.equal(made.filter(rule => rule === ofBob).length, 1)
})

t.test('a flood while the server is offline displaces no waiting report of another rule', async t => {
  const { server, agent, pushAs, denied, over, flood, listed } = await openApp(t)
  const ofAnn = await pushAs('ann')
  const ofBob = await pushAs('bob')
  await server.stop()
  await over(ofBob, ['192.0.2.1'])
  await flood(ofAnn)

  await agent.restart()
  t.same(denied(ofBob), ['192.0.2.1'])
  t.equal(denied(ofAnn).length, maxBansPerRule)
  await server.restart()
  await agent.connected()
  await listed(`?rule_id=${ofBob}`, bans => bans.some(({ source }) => source === '192.0.2.1'))
})

t.test('an agent reports a few bans a second, those of all owners in turn', async t => {
  const { pushAs, over, list, listed } = await openApp(t)
  const ofAnn = await pushAs('ann')
  const ofBob = await pushAs('bob')
  await over(
    ofAnn,
    Array.from({ length: 100 }, (_, i) => sourceOf(i))
  )
  await over(ofBob, ['192.0.2.1'])

  await listed(`?rule_id=${ofBob}`, bans => bans.length === 1)
  t.ok((await list(`?rule_id=${ofAnn}`)).length < 100, 'bans of ann still wait')
  await listed(`?rule_id=${ofAnn}`, bans => bans.length === 100)
})

t.test('the server stores the newest 500 bans of a rule', async t => {
  const { pushAs, over, store, list, listed } = await openApp(t)
  const rule = await pushAs('ann')
  await store(rule, 'ann', maxBansPerRule)

  await over(rule, ['192.0.2.1', '192.0.2.2'])

  const isNew = ({ source }: Record): boolean => source.startsWith('192.')
  const bans = await listed(`?rule_id=${rule}`, bans => bans.filter(isNew).length === 2)
  t.equal(bans.length, maxBansPerRule)
  t.same(
    bans.map(({ source }) => source).filter(one => [sourceOf(0), sourceOf(1)].includes(one)),
    []
  )
  t.equal((await list()).length, maxBansPerRule)
})

t.test('beyond 5,000 stored bans of rules, the owner with the most loses the oldest', async t => {
  const { server, pushAs, over, store, listed } = await openApp(t)
  const ofBob = await pushAs('bob')
  const perRule = maxBansPerRule
  for (let rule = 0; rule < maxRuleBans / perRule; rule++)
    await store(`rule-of-ann-${String(rule).padStart(6, '0')}`, 'ann', perRule)

  await over(ofBob, ['192.0.2.1'])

  await listed(`?rule_id=${ofBob}`, bans => bans.length === 1)
  const { store: db } = server.server.depsOf('bans')
  t.same(await db.read(em => em.countBy(Ban, 'owner', {})), { ann: maxRuleBans - 1, bob: 1 })
})

t.test('an operator can ban a source while the rules of a client have all their bans', async t => {
  const { server, pushAs, store } = await openApp(t)
  const rule = await pushAs('ann')
  await store(rule, 'ann', maxRuleBans)
  const add = (source: string) => server.call('POST', '/v1/bans', { source })

  t.match(await add('203.0.113.1'), { status: 201 })
  await store('', '', maxOperatorBans - 1, { cause: 'operator', isSent: true })
  t.match(await add('203.0.113.2'), {
    status: 422,
    body: { error: { code: 'limit_reached', details: { limit: maxOperatorBans } } }
  } as object)
})

t.test('a ban that was lifted is lifted again if its agent restarts and reports it again', async t => {
  const { server, agent, pushAs, over, denied, listed } = await openApp(t)
  const rule = await pushAs('ann')
  const sources = Array.from({ length: 100 }, (_, i) => sourceOf(i))
  await over(rule, sources)
  const [ban] = await listed('', bans => bans.length > 0)
  const { ban_id, source = '' } = ban ?? {}
  t.match(await server.call('DELETE', `/v1/bans/${ban_id}`), { status: 204 })
  t.notOk(denied(rule).includes(source))

  await agent.restart() // other bans still wait for their report, so the file has this one, too
  t.ok(denied(rule).includes(source))
  await agent.connected()

  await listed('', bans => bans.length === sources.length - 1 && !denied(rule).includes(source))
})

t.test('many ended bans of one rule do not delay the removal of others from agents', async t => {
  const { server, pushAs, store } = await openApp(t)
  const rule = await pushAs('ann')
  const endedAt = { isSent: true, untilMs: server.clock.now() - 2 * repeatMs }
  for (const owner of ['ann', 'bob', 'eve']) await store(`${rule.slice(3)}${owner}`, owner, 499, endedAt)

  await server.clock.advance(60_000)

  const { store: db } = server.server.depsOf('bans')
  await until(
    () => db.read(em => em.count(Ban, { isSent: true })),
    sent => sent === 0
  )
})

t.test('a ban without a client names the remedy', async t => {
  const server = await testServer(t)

  const { status, body } = await server.call('POST', '/v1/bans', { source: '192.0.2.1' })

  t.match({ status, body }, {
    status: 404,
    body: { error: { code: 'client_not_found', message: /no client is enrolled.*sluice client enroll/ } }
  } as object)
})

t.test('a rule with a proxy_in that covers every address cannot ban sources', async t => {
  const { server } = await openApp(t)
  let port = 9090
  const targets = [{ host: '10.0.0.1', port: 80 }]
  const push = (more: object) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: port++,
      targets,
      ...more
    })
  const ban = { new_connections: 10 }
  const refusal = {
    status: 400,
    body: { error: { code: 'validation.ban', details: { field: '/ban', reason: 'proxy_in' } } }
  } as object

  for (const proxy_in of [['0.0.0.0/0'], ['::/0', '192.0.2.1'], ['0.0.0.0/1', '10.0.0.0/8', '128.0.0.0/1']])
    t.match(await push({ ban, proxy_in }), refusal, proxy_in.join())
  t.match(await push({ ban, proxy_in: ['10.0.0.0/8', '128.0.0.0/1'] }), { status: 201 })
  const { body: rule } = await push({ ban })
  const url = `/v1/rules/${rule.rule_id}`
  t.match(await server.call('PATCH', url, { proxy_in: ['0.0.0.0/0'] }), refusal)
  t.match(await server.call('PATCH', url, { proxy_in: ['0.0.0.0/0'], ban: null }), { status: 200 })
  t.match(await server.call('PATCH', url, { ban }), refusal)
})
