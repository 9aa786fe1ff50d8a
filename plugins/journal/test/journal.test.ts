// The journal of a rule, with a server and an agent in this process. The test controls their clock.
import t, { type Test } from 'tap'
import type { EngineEvent } from '../../../agent/engine/engine.ts'
import { runAgent, testServer } from '../../../kit/public.ts'
import { type Deps, until } from '../../rules/test/fixture.ts'
import type { EntryRow } from '../schema.ts'

const targets = [
  { host: '10.0.0.1', port: 80 },
  { host: '10.0.0.2', port: 80 }
]

async function openApp(t: Test, keys: Record<string, unknown> = {}) {
  const server = await testServer(t, { keys })
  const agent = await runAgent(t, server, 'edge', {})
  const push = async (fields: object = {}) => {
    const reply = await server.call<{ rule_id: string; owner: string }>('POST', '/v1/rules', {
      ...{ client: 'edge', listen_port: 8080, targets },
      ...fields
    })
    return reply.body
  }
  const journal = async (id: string, query = '') => {
    const { body } = await server.call<EntryRow[]>('GET', `/v1/rules/${id}/journal?${query}`)
    return body
  }
  /** Reads until the entries are as expected, and advances the clock that server and agent share. */
  const reported = (id: string, query: string, isExpected: (rows: readonly EntryRow[]) => boolean) =>
    until(async () => {
      await server.clock.advance(100)
      return journal(id, query)
    }, isExpected)
  const health = (target: number, from: string, to: string, reason: string): EngineEvent =>
    ({
      kind: 'target-health',
      ruleId: agent.engine.opened.at(-1)?.id,
      target,
      from,
      to,
      reason
    }) as EngineEvent
  return { server, agent, push, journal, reported, health }
}

t.test('one call shows why a rule failed over while the server was offline', async t => {
  const { server, agent, push, journal, reported, health } = await openApp(t)
  const { rule_id } = await push()
  await server.stop()
  await server.clock.advance(60_000)
  const at = new Date(server.clock.now()).toISOString()
  agent.engine.emit(health(0, 'healthy', 'failed', 'refused'))
  await agent.restart()

  await server.restart()
  await agent.connected()

  const failovers = await reported(rule_id, 'kind=failover', rows => rows.length > 0)
  t.match(failovers, [
    {
      ...{ ts: at, kind: 'failover', from: '10.0.0.1:80', to: '10.0.0.2:80', cause: 'refused' },
      ...{ request_id: null, details: { target: '10.0.0.1:80' } }
    }
  ])
  t.match(await journal(rule_id, 'kind=target'), [{ from: 'healthy', to: 'failed', cause: 'refused' }])
  const edge = (await journal(rule_id, 'kind=edge')).map(({ to }) => to)
  t.ok(edge.includes('started') && edge.includes('connected'), String(edge))
})

t.test('the journal shows that flows left a silent target, once in ten minutes', async t => {
  const { server, agent, push, reported } = await openApp(t)
  const { rule_id } = await push()
  const redialed = (from: number, to: number, ...addresses: readonly [string, string]): void =>
    agent.engine.emit({
      kind: 'flow-redialed',
      ruleId: agent.engine.opened.at(-1)?.id ?? 0,
      from,
      to,
      addresses
    })

  for (let i = 0; i < 3; i++) redialed(0, 1, '10.0.0.1', '10.0.0.2')
  redialed(0, 0, '10.0.0.1', '10.0.0.9')
  await server.clock.advance(600_000)
  redialed(0, 1, '10.0.0.1', '10.0.0.2')

  const rows = await reported(rule_id, 'kind=failover', rows => rows.length === 3)
  t.strictSame(
    rows.map(({ from, to, cause, details }) => [from, to, cause, details]),
    [
      ['10.0.0.1:80', '10.0.0.2:80', 'no_answer', { target: '10.0.0.1:80' }],
      ['10.0.0.1:80', '10.0.0.9:80', 'no_answer', { target: '10.0.0.1:80' }],
      ['10.0.0.1:80', '10.0.0.2:80', 'no_answer', { target: '10.0.0.1:80' }]
    ]
  )
})

t.test('a rule fails back to its first target, and to none when all targets have failed', async t => {
  const { agent, push, reported, health } = await openApp(t)
  const { rule_id } = await push()

  agent.engine.emit(
    health(0, 'unknown', 'healthy', 'connected'),
    health(0, 'healthy', 'failed', 'timeout'),
    health(1, 'unknown', 'failed', 'refused'),
    health(0, 'failed', 'healthy', 'connected')
  )

  const rows = await reported(rule_id, 'kind=failover', rows => rows.length === 3)
  t.strictSame(
    rows.map(({ from, to, cause }) => [from, to, cause]),
    [
      [null, '10.0.0.1:80', 'connected'],
      ['10.0.0.2:80', null, 'refused'],
      ['10.0.0.1:80', '10.0.0.2:80', 'timeout']
    ]
  )
})

t.test('states and changes have their cause, request and actor', async t => {
  const { server, push, journal } = await openApp(t)
  const { rule_id } = await push()
  const patch = (body: object) => server.call('PATCH', `/v1/rules/${rule_id}`, body)
  await server.clock.advance(1000)
  t.match(await patch({ rate_limit: { concurrent_connections: 5 } }), { status: 200 })
  await server.clock.advance(1000)
  const reply = await patch({ targets: targets.slice(0, 1) })
  await server.clock.advance(1000)
  t.match(await patch({ paused: true }), { status: 200 })

  const rows = await journal(rule_id, 'limit=1000')
  const of = (kind: string) => rows.filter(row => row.kind === kind)
  t.match(of('limit'), [
    { from: null, cause: 'request', details: { field: 'rate_limit', actor: '_operator' } }
  ])
  t.match(of('target'), [
    { to: [{ host: '10.0.0.1' }], request_id: reply.headers['x-request-id'], details: { field: 'targets' } }
  ])
  t.strictSame(
    of('state').map(({ from, to }) => [from, to]),
    [
      ['active', 'paused'],
      ['pending', 'active'],
      [null, 'pending']
    ]
  )
  t.match(of('change'), [{ from: false, to: true, details: { field: 'paused' } }])
})

t.test('the journal shows the undoing of a refused change, with the code', async t => {
  const { server, agent, push, journal } = await openApp(t)
  const { rule_id } = await push()

  agent.engine.refuseNextOpen('EADDRINUSE')
  t.match(await server.call('PATCH', `/v1/rules/${rule_id}`, { listen_port: 8081 }), { status: 409 })

  t.match(await journal(rule_id, 'kind=change'), [
    { from: 'requested', to: 'undone', cause: 'port_in_use' },
    { from: 8080, to: 8081, details: { field: 'listen_port' } }
  ])
})

t.test('the journal shows when the schedule of a rule closes and opens it', async t => {
  const { server, push, reported } = await openApp(t)
  const expires_at = new Date(server.clock.now() + 60_000).toISOString()
  const { rule_id } = await push({ expires_at })
  await server.clock.advance(5000)

  await server.clock.advance(60_000)

  const rows = await reported(rule_id, 'kind=state', rows => rows.some(({ to }) => to === 'closed'))
  t.match(rows[0], { from: 'open', to: 'closed', cause: 'expired' })
})

t.test('a quota adds entries to the rules that it limits when it is spent and when it reopens', async t => {
  const { server, push, journal } = await openApp(t)
  const clientId = (await server.call<{ client_id: string }[]>('GET', '/v1/clients')).body[0]?.client_id
  await server.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', role: 'user' })
  const url = `/v1/users/ann/quotas/${clientId}`
  const { rule_id } = await push({ owner: 'ann' })
  const other = await push({ listen_port: 8081 })

  for (const monthly_bytes of [0, 1000]) {
    const set = server.call('PUT', url, { monthly_bytes })
    let isSet = false
    void set.finally(() => {
      isSet = true
    })
    while (!isSet) await server.clock.advance(100) // it asks the agent for a report first
    t.match(await set, { status: 200 })
  }

  t.match(await journal(rule_id, 'kind=quota'), [
    { from: 'spent', to: 'open', cause: 'request' },
    { from: 'open', to: 'spent', cause: 'used_up', details: { monthly_bytes: 0 } }
  ])
  t.strictSame(await journal(other.rule_id, 'kind=quota'), [])
})

t.test('pages go back in time, times are inclusive, and only the owner sees them', async t => {
  const { server, push, journal } = await openApp(t)
  await server.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', role: 'user' })
  const { rule_id } = await push()
  for (const port of [8081, 8082, 8083]) {
    await server.clock.advance(1000)
    await server.call('PATCH', `/v1/rules/${rule_id}`, { listen_port: port })
  }

  const all = await journal(rule_id)
  const first = await server.call<EntryRow[]>('GET', `/v1/rules/${rule_id}/journal?limit=2`)
  const next = /<([^>]*)>/.exec(String(first.headers['link']))?.[1] ?? ''
  const second = await server.call<EntryRow[]>('GET', next)

  t.strictSame([...first.body, ...second.body], all.slice(0, 4))
  const [newest] = all
  t.strictSame(await journal(rule_id, `since=${newest?.ts}&until=${newest?.ts}`), all.slice(0, 1))
  const url = `/v1/rules/${rule_id}/journal`
  t.match(await server.call('GET', `${url}?since=yesterday`), {
    status: 400,
    body: { error: { code: 'invalid_timestamp' } }
  })
  t.match(await server.call('GET', `${url}?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z`), {
    status: 400,
    body: { error: { code: 'invalid_time_range' } }
  })
  t.match(await server.call('GET', '/v1/rules/01KCD3F0P7Q4Y6Z8V1T5S9R2NB/journal'), { status: 404 })
})

t.test('each rule has a bound, and old entries are deleted', async t => {
  const keys = { journal_max_entries: 10, journal_retention_days: 1 }
  const { server, agent, push, reported, health } = await openApp(t, keys)
  const { rule_id } = await push()
  const flaps = Array.from({ length: 200 }, (_, at) =>
    at % 2 === 0 ? health(0, 'healthy', 'failed', 'refused') : health(0, 'failed', 'healthy', 'connected')
  )

  agent.engine.emit(...flaps)

  const rows = await reported(
    rule_id,
    'kind=failover',
    rows => rows[0]?.to === '10.0.0.1:80' && rows.length < 60
  )
  t.ok(rows.length > 4)
  const { rule_id: other } = await push({ listen_port: 8081 })
  await agent.stop()
  const old = async () => {
    const { rules, store, clock } = server.server.depsOf('rules') as Deps
    const note = { about: { rule: other }, kind: 'test', from: null, to: null, cause: null }
    await store.change(em => rules.addJournalEntry({ ...note, at: clock.now() - 25 * 3_600_000 }, em))
  }
  const count = () =>
    server.server
      .depsOf('rules')
      .store.read(em => em.execute("select id from journal_entry where kind = 'test'"))
  await old()
  t.match(await count(), [{}])
  await server.restart()
  t.strictSame(await count(), [])
})
