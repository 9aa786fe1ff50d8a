// The times of a rule in both halves: a server and an agent in this process, with a clock that the test moves.
import t, { type Test } from 'tap'
import { Fault, storeUnavailable } from '../../../kernel/base/errors.ts'
import { runAgent, testServer } from '../../../kit/public.ts'
import { Rule } from '../../rules/entities.ts'
import { until } from '../../rules/test/fixture.ts'

const start = '2026-01-15T12:00:00.000Z' // of the kit's clock, a Thursday
const later = (secs: number): string => new Date(Date.parse(start) + secs * 1000).toISOString()

const hours = (from: string, to: string, days: readonly string[] = ['mon', 'tue', 'wed', 'thu', 'fri']) => ({
  time_zone: 'UTC',
  windows: [{ days, from, to }]
})

async function openApp(t: Test, keys: Record<string, unknown> = {}) {
  const server = await testServer(t, { keys })
  const agent = await runAgent(t, server, 'edge', {})
  const push = (fields: object, port = 8080) =>
    server.call<Record<string, unknown> & { rule_id: string }>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: port,
      targets: [{ host: '10.0.0.1', port: 80 }],
      ...fields
    })
  const patch = (id: string, body: object) =>
    server.call<Record<string, unknown>>('PATCH', `/v1/rules/${id}`, body)
  const get = async (id: string) =>
    (await server.call<Record<string, unknown>>('GET', `/v1/rules/${id}`)).body
  const expirations = () => server.decisions.filter(({ action }) => action === 'rule.expire')
  return { server, agent, push, patch, get, expirations }
}

t.test('times are normalized, shown, merged and removed', async t => {
  const { push, patch } = await openApp(t)

  const { body } = await push({ expires_at: '2026-01-16T13:00:00+01:00', schedule: hours('08:00', '18:00') })
  t.match(body, {
    state: 'active',
    not_before: null,
    expires_at: '2026-01-16T12:00:00.000Z',
    schedule: hours('08:00', '18:00'),
    at_end: 'drain'
  })
  t.match(await patch(body.rule_id, { at_end: 'cut', schedule: null }), {
    status: 200,
    body: { expires_at: '2026-01-16T12:00:00.000Z', schedule: null, at_end: 'cut' }
  })
  t.match(await patch(body.rule_id, { expires_at: null, at_end: 'drain' }), {
    body: { expires_at: null, at_end: 'drain', state: 'active' }
  })
})

t.test('a schedule that never opens, or a time in the past, is refused, and nothing changes', async t => {
  const { push, patch, get } = await openApp(t)
  const { body: rule } = await push({})

  for (const [given, code, field] of [
    [{ expires_at: later(0) }, 'validation.expires_in_past', '/expires_at'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'validation.expires_in_past', '/expires_at'],
    [{ expires_at: 'tomorrow' }, 'validation.schedule', '/expires_at'],
    [{ not_before: '2026-13-01T00:00:00Z' }, 'validation.schedule', '/not_before'],
    [{ not_before: later(60), expires_at: later(60) }, 'validation.schedule', '/expires_at'],
    [{ schedule: hours('18:00', '08:00') }, 'validation.schedule', '/schedule/windows/0'],
    [{ schedule: hours('08:00', '08:00') }, 'validation.schedule', '/schedule/windows/0'],
    [{ schedule: hours('08:00', '24:01') }, 'validation.schedule', '/schedule/windows/0/to'],
    [{ schedule: hours('8:00', '18:00') }, 'validation.schedule', '/schedule/windows/0/from'],
    [{ schedule: hours('08:00', '18:00', []) }, 'validation.schedule', '/schedule/windows/0/days'],
    [{ schedule: { time_zone: 'UTC', windows: [] } }, 'validation.schedule', '/schedule/windows'],
    [
      { schedule: { time_zone: 'UTC', windows: Array(33).fill(hours('08:00', '18:00').windows[0]) } },
      'validation.schedule',
      '/schedule/windows'
    ],
    [
      { schedule: { ...hours('08:00', '18:00'), time_zone: 'Mars/Olympus' } },
      'validation.time_zone',
      '/schedule/time_zone'
    ],
    [
      { schedule: { ...hours('08:00', '18:00'), time_zone: '+01:00' } },
      'validation.time_zone',
      '/schedule/time_zone'
    ]
  ] as const) {
    const wrong = { status: 400, body: { error: { code, details: { field } } } }
    t.match(await push(given, 1), wrong, JSON.stringify(given))
    t.match(await patch(rule.rule_id, given), wrong)
  }
  t.match(await get(rule.rule_id), { expires_at: null, schedule: null, not_before: null })
})

t.test('no rule shows a time of the year 10000, which no request could repeat', async t => {
  const { push, patch, get } = await openApp(t)
  const latest = '9999-12-31T23:59:59.999Z'

  for (const field of ['not_before', 'expires_at'])
    t.match(
      await push({ [field]: '9999-12-31T23:59:59-01:00' }),
      { status: 400, body: { error: { code: 'validation.schedule', details: { field: `/${field}` } } } },
      field
    )
  const { body } = await push({ expires_at: latest })
  t.equal((await get(body.rule_id))['expires_at'], latest)
  t.match(await patch(body.rule_id, { expires_at: latest }), { status: 200 })
})

t.test(
  'a rule opens at not_before and expires at expires_at, without the server and after a cold start',
  async t => {
    const { server, agent, push, get } = await openApp(t)
    const { rule_id: id } = (await push({ not_before: later(10), expires_at: later(30) })).body
    t.match(await get(id), { state: 'outside_schedule', state_reason: `outside_schedule until ${later(10)}` })
    t.match(await agent.status(), { not_in_force: [{ id, reason: 'outside_schedule' }] })

    await server.stop()
    await server.clock.advance(9000)
    t.match(await agent.status(), { connected: false, not_in_force: [{ id, reason: 'outside_schedule' }] })
    await server.clock.advance(1000)
    t.strictSame((await agent.status()).not_in_force, [])
    await agent.restart()
    t.strictSame((await agent.status()).not_in_force, [])
    await server.clock.advance(20_000)
    t.match(await agent.status(), { not_in_force: [{ id, reason: 'expired' }] })
    await agent.restart()
    t.match(await agent.status(), { not_in_force: [{ id, reason: 'expired' }] })

    await server.restart()
    await agent.connected()
    t.match(await get(id), { state: 'expired', state_reason: `expired since ${later(30)}` })
  }
)

t.test('days are stored once and in the order of the week, and a time zone in its usual case', async t => {
  const { push } = await openApp(t)
  const { windows } = hours('08:00', '18:00', ['sun', 'mon', 'sun'])
  t.match(await push({ schedule: { time_zone: 'europe/paris', windows } }), {
    status: 201,
    body: { schedule: { time_zone: 'Europe/Paris', windows: [{ days: ['mon', 'sun'] }] } }
  })
})

t.test('a rule is closed outside its hours, and its record shows until when', async t => {
  const { server, agent, push, get } = await openApp(t)
  const windows = [...hours('12:00', '12:01').windows, ...hours('12:02', '12:03').windows]
  const twice = { time_zone: 'UTC', windows }
  const { rule_id: id } = (await push({ schedule: twice })).body
  t.match(await get(id), { state: 'active', state_reason: null })

  await server.clock.advance(60_000)
  t.match(await get(id), {
    state: 'outside_schedule',
    state_reason: 'outside_schedule until 2026-01-15T12:02:00.000Z'
  })
  t.match(await agent.status(), { not_in_force: [{ id, reason: 'outside_schedule' }] })
  t.match((await server.call<object[]>('GET', '/v1/rules?state=outside_schedule')).body, [{ rule_id: id }])
  t.match(
    await push({}, 8080),
    { status: 409, body: { error: { code: 'port_in_use' } } },
    'its port stays reserved'
  )

  await server.clock.advance(60_000)
  t.match(await get(id), { state: 'active' })
  t.strictSame((await agent.status()).not_in_force, [])
})

t.test('at_end decides what happens to live connections', async t => {
  for (const [atEnd, atOnce, drained] of [
    ['keep', false, false],
    ['drain', false, true],
    ['cut', true, true]
  ] as const) {
    const { server, agent, push } = await openApp(t)
    await push({ expires_at: later(10), at_end: atEnd })
    const [[, rule] = []] = agent.engine.rules
    const isReset = () => rule?.meters.some(meter => agent.engine.budgets.get(meter)?.holdMs === 0)
    t.notOk(isReset())

    await server.clock.advance(10_000)
    t.equal(isReset(), atOnce, atEnd)
    await server.clock.advance(30_000)
    t.equal(isReset(), drained, atEnd)
  }
})

t.test('an expired rule frees its port, and a later time revives it while the port is free', async t => {
  const { server, agent, push, patch, get } = await openApp(t)
  const { rule_id: id } = (await push({ expires_at: later(10) })).body
  await server.clock.advance(10_000)

  t.match(await patch(id, { expires_at: later(60) }), { status: 200, body: { state: 'active' } })
  await server.clock.advance(60_000)
  t.match(await get(id), { state: 'expired' })
  t.match(await agent.status(), { not_in_force: [{ id, reason: 'expired' }] })
  const other = await push({})
  t.match(other, { status: 201, body: { state: 'active' } })
  t.strictSame((await agent.status()).not_in_force, [], 'the agent has nothing open for it')
  t.match(await patch(id, { expires_at: later(7200) }), {
    status: 409,
    body: { error: { code: 'port_in_use', details: { rule_id: other.body.rule_id } } }
  })
  await server.call('DELETE', `/v1/rules/${other.body.rule_id}`)
  t.match(await patch(id, { expires_at: later(7200) }), { status: 200, body: { state: 'active' } })
  t.match(await patch(id, { expires_at: later(120) }), { status: 200 })
  await server.clock.advance(60_000)
  t.match(await patch(id, { labels: { still: 'here' } }), { status: 200, body: { state: 'expired' } })
})

t.test('an expired rule is removed later, and the audit log names the server as the actor', async t => {
  const { server, push, get, expirations } = await openApp(t, { expired_rules_keep_secs: 60 })
  const { rule_id: id } = (await push({ expires_at: later(10) })).body
  const { rule_id: kept } = (await push({ expires_at: later(20) }, 8081)).body

  await server.clock.advance(67_000)
  t.match(await get(id), { state: 'expired' })
  await server.clock.advance(4000)
  await until(
    async () => expirations().length,
    count => count > 0
  )

  t.match(expirations(), [{ actor: '_system', action: 'rule.expire', resourceId: id }])
  t.match(await get(kept), { state: 'expired' })
})

t.test('an expired rule is removed even after the store was not readable', async t => {
  const { server, push, expirations } = await openApp(t, { expired_rules_keep_secs: 60 })
  const { rule_id: id } = (await push({ expires_at: later(10) })).body
  const { store } = server.server.depsOf('schedule')
  const { read } = store
  store.read = async () => Promise.reject(new Fault(storeUnavailable, 'unavailable'))
  await server.clock.advance(71_000)
  t.match(
    server.log.filter(({ event }) => event === 'schedule.not_tidied'),
    [{ message: /unavailable/ }]
  )
  store.read = read

  await server.clock.advance(60_000)

  await until(
    async () => expirations().length,
    count => count > 0
  )
  t.match(expirations(), [{ resourceId: id }])
})

t.test('expired rules that drain do not block the removal of others', async t => {
  const { server, agent, push } = await openApp(t, { expired_rules_keep_secs: 60 })
  const count = 101 // more than one batch
  for (let at = 0; at < count; at++) await push({ expires_at: later(10) }, 8080 + at)
  agent.engine.holdDrains()

  await server.clock.advance(71_000)

  const { store } = server.server.depsOf('rules')
  const draining = await until(
    () => store.read(em => em.count(Rule, { state: 'draining' })),
    number => number === count
  )
  t.equal(draining, count)
})

t.test('the fields are refused for an agent without the capability', async t => {
  const { rulesFixture } = await import('../../rules/test/fixture.ts')
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', 'schedule'] })
  await app.connect(await app.enroll())

  for (const field of [{ expires_at: later(60) }, { schedule: hours('08:00', '18:00') }, { at_end: 'cut' }])
    t.match(await app.push(field), {
      status: 422,
      body: { error: { code: 'rule_field_unsupported_by_client' } }
    })
})
