// Both halves: a server and an agent with a fake engine.
import t, { type Test } from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'
import { parseDuration } from '../../cli/command-exports.ts'
import { until } from '../../rules/test/fixture.ts'

interface Record {
  readonly ban_id: string
  readonly source: string
  readonly times: number
  readonly from: string
  readonly until: string
}

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  let port = 8080
  const push = (ban: unknown, more: object = {}) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: port++,
      targets: [{ host: '10.0.0.1', port: 80 }],
      ban,
      ...more
    })
  const add = (body: object) => server.call<{ bans: Record[] }>('POST', '/v1/bans', body)
  const list = async (query = '') => (await server.call<Record[]>('GET', `/v1/bans${query}`)).body
  const denied = (set: string) => [...(agent.engine.addresses.get(set) ?? [])]
  /** The engine reports a source over a limit of the newest rule. */
  const over = (source: string, at = 0): void => {
    const [ruleId, rule] = [...agent.engine.rules].at(-1) ?? []
    const limit = rule?.sourceLimits[at]?.name
    if (ruleId === undefined || limit === undefined) throw new TypeError('the rule has no limit')
    agent.engine.emit({ kind: 'source-over', ruleId, source, limit })
  }
  /** Resolves when the server has `count` bans. */
  const known = async (count: number): Promise<readonly Record[]> => {
    const read = async () => {
      await server.clock.advance(100) // the agent runs on the server's clock
      return list()
    }
    return until(read, bans => bans.length === count)
  }
  return { server, agent, push, add, list, denied, over, known }
}

t.test('an operator bans a source on a client and lifts the ban', async t => {
  const { server, agent, push, add, list, denied } = await openApp(t)
  await push(null)
  t.match([...agent.engine.rules.values()][0]?.addressGuards, [
    { deny: ['bans', /^bans /], live: 'keep', refusal: 'source_banned' }
  ])

  const { status, body } = await add({
    source: '198.51.100.9/24',
    client: agent.clientId,
    for_secs: 60,
    reason: 'scans'
  })
  t.match({ status, body }, {
    status: 201,
    body: {
      bans: [
        {
          source: '198.51.100.0/24',
          cause: 'operator',
          reason: 'scans',
          made_by: '_operator',
          state: 'in_force'
        }
      ]
    }
  } as object)
  t.same(denied('bans'), ['198.51.100.0/24'])
  t.match(agent.engine.connectionsEnded, [{ sources: ['198.51.100.0/24'], rules: null }])

  const [ban] = body.bans
  t.match(await server.call('DELETE', `/v1/bans/${ban?.ban_id}`), { status: 204 })
  t.same(denied('bans'), [])
  t.match(await server.call('DELETE', `/v1/bans/${ban?.ban_id}`), { status: 404 })
  t.same(await list(), [])
  t.match(await list('?state=all'), [{ state: 'lifted', lifted_by: '_operator' }])
})

t.test('a ban survives an agent restart and ends on time', async t => {
  const { server, agent, push, add, list, denied } = await openApp(t)
  const { body: rule } = await push(null)
  await add({ source: '198.51.100.7', rule_id: rule.rule_id, for_secs: 60, live: 'keep' })
  const set = `bans ${rule.rule_id}`
  t.same(denied(set), ['198.51.100.7'])
  t.same(agent.engine.connectionsEnded, [])

  await agent.restart()
  t.same(denied(set), ['198.51.100.7'])
  await agent.connected()
  await server.clock.advance(61_000)
  t.same(denied(set), [])
  t.same(await list(), [])
  t.match(await list(`?state=all&rule_id=${rule.rule_id}`), [{ state: 'ended', rule_id: rule.rule_id }])
})

t.test('an agent bans a source over a limit, for longer each time, and reports the bans', async t => {
  const { server, push, denied, over, known } = await openApp(t)
  const { body: rule } = await push({ new_connections: 10, failed_handshakes: 3, for_secs: 100 })
  t.match(rule, { ban: { within_secs: 60, live: 'cut' } })

  over('192.0.2.1')
  over('192.0.2.1')
  await server.clock.advance(50)
  t.same(denied(`bans ${rule.rule_id}`), ['192.0.2.1'])
  t.match(await known(1), [{ source: '192.0.2.1', cause: 'new_connections', times: 1, made_by: null }])
  await server.clock.advance(101_000)
  over('192.0.2.1', 1)
  over('2001:db8::/64')
  const bans = await known(2)
  t.match(
    bans
      .map(({ source, times, from, until }) => [source, times, (Date.parse(until) - Date.parse(from)) / 1000])
      .sort(),
    [
      ['192.0.2.1', 2, 200],
      ['2001:db8::/64', 1, 100]
    ]
  )
  const { body: journal } = await server.call<{ kind: string }[]>('GET', `/v1/rules/${rule.rule_id}/journal`)
  t.match(
    journal.filter(({ kind }) => kind === 'ban'),
    [
      { cause: 'new_connections' },
      { to: '192.0.2.1', cause: 'failed_handshakes' },
      { cause: 'new_connections' }
    ]
  )
})

t.test('an agent stores bans made without the server and reports them later', async t => {
  const { server, agent, push, denied, over, known } = await openApp(t)
  const { body: rule } = await push({ new_connections: 10 })
  await server.stop()
  over('192.0.2.1')
  await agent.restart()
  t.same(denied(`bans ${rule.rule_id}`), ['192.0.2.1'])

  await server.restart()
  await agent.connected()
  const [ban] = await known(1)
  t.match(await server.call('DELETE', `/v1/bans/${ban?.ban_id}`), { status: 204 })
  t.same(denied(`bans ${rule.rule_id}`), [])
})

t.test('an invalid ban or policy is refused and changes nothing', async t => {
  const { push, add, list } = await openApp(t)
  for (const [ban, more, field] of [
    [{ new_connections: 0 }, {}, '/ban/new_connections'],
    [{ failed_handshakes: 3, within_secs: 86_401 }, {}, '/ban/within_secs'],
    [{ for_secs: 10 }, {}, '/ban'],
    [{ new_connections: 3 }, { protocol: 'udp' }, '/ban'],
    [{ new_connections: 3, live: 'hold' }, {}, '/ban/live']
  ] as const)
    t.match(
      await push(ban, more),
      { status: 400, body: { error: { code: 'validation.ban', details: { field } } } } as object,
      JSON.stringify(ban)
    )
  for (const [body, status, code] of [
    [{ source: 'example.org' }, 400, 'validation.ban'],
    [{ source: '0.0.0.0/0' }, 400, 'validation.ban'],
    [{ source: '192.0.2.1', for_secs: 0 }, 400, 'validation.ban'],
    [{ source: '192.0.2.1', client: 'nobody' }, 404, 'client_not_found'],
    [{ source: '192.0.2.1', rule_id: 'none' }, 404, 'rule_not_found']
  ] as const)
    t.match(await add(body), { status, body: { error: { code } } } as object, JSON.stringify(body))
  t.same(await list(), [])
})

t.test('deleting a rule deletes its bans', async t => {
  const { server, push, add, known, list, denied } = await openApp(t)
  const { body: rule } = await push(null)
  await add({ source: '192.0.2.1', rule_id: rule.rule_id })
  await server.call('DELETE', `/v1/rules/${rule.rule_id}`)
  t.same(await known(0), [])
  t.same(await list('?state=all'), [])
  await push(null)
  t.same(denied(`bans ${rule.rule_id}`), [])
})

t.test('a duration is a number and a unit', t => {
  t.same(['30s', '10m', '1h', '7d', '1w'].map(parseDuration), [30, 600, 3_600, 604_800, 604_800])
  for (const bad of ['1', 'h', '1y', '-1h', '1.5h']) t.throws(() => parseDuration(bad), /must be a duration/)
  t.end()
})
