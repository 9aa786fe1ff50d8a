// The rule field in both halves: a server, and an agent on a fake engine.
import t, { type Test } from 'tap'
import type { TargetCounters } from '../../../agent/engine/engine.ts'
import { runAgent, testServer } from '../../../kit/public.ts'
import { until } from '../../rules/test/fixture.ts'

interface Record {
  readonly rule_id: string
  readonly targets: readonly { readonly priority: number; readonly weight: number }[]
}

interface Health {
  readonly ejected_until: string | null
  readonly ejected_reason: string | null
}

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  let port = 8080
  const push = (targets: readonly object[], balance: unknown) =>
    server.call<Record>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: port++,
      balance,
      targets: targets.map((target, at) => ({ host: `10.0.0.${at + 1}`, port: 80, ...target }))
    })
  const patch = (id: string, body: object) => server.call<Record>('PATCH', `/v1/rules/${id}`, body)
  const planned = () => [...agent.engine.rules.values()].at(-1)?.balance
  const health = async (id: string): Promise<readonly Health[]> => {
    const { body } = await server.call<{ targets: { health: Health }[] }>('GET', `/v1/rules/${id}`)
    return body.targets.map(target => target.health)
  }
  /** Reads until the value is as expected, and advances the clock between reads. */
  const soon = <T>(read: () => Promise<T>, isExpected: (value: T) => boolean): Promise<T> =>
    until(async () => {
      await server.clock.advance(100)
      return read()
    }, isExpected)
  /** Sets the counters of the targets of the newest rule. */
  const count = (...targets: readonly Partial<TargetCounters>[]): void => {
    const ruleId = [...agent.engine.rules.keys()].at(-1) ?? 0
    const zero = agent.engine.sample().rules.find(rule => rule.ruleId === ruleId)?.targets ?? []
    agent.engine.setCounters(ruleId, { targets: zero.map((target, at) => ({ ...target, ...targets[at] })) })
  }
  const shares = () => [...agent.engine.shares.values()].at(-1)
  const fail = (target: number, reason: string): void => {
    const failed = { health: 'failed', failures: 3, consecutiveFailures: 3 } as const
    const ruleId = [...agent.engine.rules.keys()].at(-1) ?? 0
    count(...[0, 1].map(at => (at === target ? failed : {})))
    agent.engine.emit({ kind: 'target-health', ruleId, target, from: 'healthy', to: 'failed', reason })
  }
  return { server, agent, push, patch, planned, health, soon, count, shares, fail }
}

t.test('each algorithm becomes a balance of the engine, by priority and weight', async t => {
  const { push, planned } = await openApp(t)
  const targets = [{ priority: 1, weight: 256 }, { weight: 3 }, { weight: 0 }, {}]
  for (const [balance, by, weights] of [
    ['round_robin', 'round_robin', [1, 0, 1, 1]],
    ['weighted', 'round_robin', [3, 0, 1, 256]],
    ['least_connections', 'least_connections', [3, 0, 1, 256]],
    ['source_hash', 'source_hash', [3, 0, 1, 256]],
    ['random_two', 'random_two', [3, 0, 1, 256]]
  ] as const) {
    t.match(await push(targets, balance), {
      status: 201,
      body: {
        balance,
        state: 'active',
        targets: [
          { priority: 1, weight: 256 },
          { priority: 0, weight: 3 },
          { priority: 0, weight: 0 },
          { priority: 0, weight: 1 }
        ]
      }
    })
    t.same(planned(), { by, tiers: [0, 0, 0, 1], weights })
  }
})

t.test('priority is the default, in the order of the request, and is shown as null', async t => {
  const { push, planned } = await openApp(t)
  for (const balance of [null, undefined, 'priority']) {
    t.match(await push([{}, {}], balance), {
      body: { balance: null, targets: [{ priority: 0, weight: 1 }, { priority: 1 }] }
    })
    t.equal(planned(), null)
  }
})

t.test('balance and weights change while the rule runs, and targets keep their order', async t => {
  const { agent, push, patch, planned } = await openApp(t)
  const { body: rule } = await push([{}, {}], 'weighted')
  const targets = (weight: number) => [
    { host: '10.0.0.1', port: 80, weight },
    { host: '10.0.0.2', port: 80 }
  ]

  t.match(await patch(rule.rule_id, { targets: targets(9) }), {
    status: 200,
    body: {
      targets: [
        { weight: 9, priority: 0 },
        { weight: 1, priority: 0 }
      ]
    }
  })
  t.match(agent.engine.weightsSet, [{ weights: [9, 1] }])
  t.match(await patch(rule.rule_id, { balance: 'least_connections' }), { status: 200 })
  t.same(planned(), { by: 'least_connections', tiers: [0, 0], weights: [9, 1] })
  t.match(await patch(rule.rule_id, { balance: null }), {
    body: { balance: null, targets: [{ weight: 9 }, {}] }
  })
  t.equal(planned(), null)
})

t.test('a target that fails is ejected; rule, journal and metrics say why and until when', async t => {
  const { server, push, fail, shares, health, soon } = await openApp(t)
  const { body: rule } = await push([{}, {}], 'round_robin')
  const began = server.clock.now()

  fail(0, 'timeout')
  t.same(shares(), [0, 1])
  const [first, second] = await soon(
    () => health(rule.rule_id),
    ([one]) => one?.ejected_until !== null
  )
  t.match(first, { state: 'failed', ejected_reason: 'timeout' })
  const secs = (Date.parse(first?.ejected_until ?? '') - began) / 1000
  t.ok(secs > 8 && secs < 12, `${secs}`)
  t.match(second, { ejected_reason: null, ejected_until: null })
  const { text } = await server.call('GET', '/v1/metrics')
  for (const [name, end] of [
    ['ejected', '10.0.0.1:80"} 1'],
    ['ejected', '10.0.0.2:80"} 0'],
    ['ejections_total', '10.0.0.1:80"} 1']
  ] as const) {
    const found = text.split('\n').filter(line => line.startsWith(`svc_rule_target_${name}{`))
    t.ok(
      found.some(line => line.endsWith(end)),
      found.join()
    )
  }

  await server.clock.advance(10_000)
  t.ok((shares()?.[0] ?? 0) >= 0.1, 'it is tried again')
  const url = `/v1/rules/${rule.rule_id}/journal`
  const journal = async (kind: string) => (await server.call<object[]>('GET', `${url}?kind=${kind}`)).body
  const entries = await soon(
    () => journal('target'),
    ({ length }) => length === 3
  )
  t.match(entries, [
    { from: 'ejected', to: 'failed', cause: 'timeout', details: { target: '10.0.0.1:80' } },
    { from: 'failed', to: 'ejected', cause: 'timeout' },
    { from: 'healthy', to: 'failed', cause: 'timeout' }
  ])
  t.match(await journal('failover'), [{ from: '10.0.0.1:80', to: '10.0.0.2:80', cause: 'timeout' }])
})

t.test('a slow target is ejected, by the margin of the rule, and returns slowly', async t => {
  const { server, push, patch, count, shares, health, soon } = await openApp(t)
  const { body: rule } = await push([{}, {}], 'least_connections')
  let connects = 0
  let slowSumMs = 0
  /** Lets each target connect; the argument is the time of the first. */
  const connect = async (slowMs: number) => {
    await server.clock.advance(1_000)
    connects += 20
    slowSumMs += 20 * slowMs
    count({ connects, connectMs: slowSumMs }, { connects, connectMs: connects })
    await server.clock.advance(1_000)
  }
  await connect(200)
  t.same(shares(), [1, 1])

  t.match(await patch(rule.rule_id, { slow_connect_ms: 100, slow_start_secs: 4 }), {
    status: 200,
    body: { slow_connect_ms: 100, slow_start_secs: 4, source_hash_ipv6_prefix: null }
  })
  await connect(200)

  t.same(shares(), [0, 1])
  const shown = await soon(
    () => health(rule.rule_id),
    ([one]) => one?.ejected_until !== null
  )
  t.match(shown, [{ ejected_reason: 'slow_connect' }, { ejected_reason: null }])
  await server.clock.advance(11_000)
  t.ok((shares()?.[0] ?? 0) > 0 && (shares()?.[0] ?? 1) < 1, String(shares()))
  await server.clock.advance(4_000)
  t.same(shares(), [1, 1])
})

t.test('a target added by a change starts with a small share from its first caller', async t => {
  const { server, push, patch, shares } = await openApp(t)
  const { body: rule } = await push([{}, {}], 'random_two')
  const host = (at: number) => ({ host: `10.0.0.${at}`, port: 80 })

  await patch(rule.rule_id, { targets: [host(1), host(3)] })
  t.same(shares(), [1, 0.1])
  await server.clock.advance(5_000)
  t.same(shares(), [1, 0.5])
})

t.test('IPv6 callers within the prefix of the rule count as one', async t => {
  const { server, push, patch, planned } = await openApp(t)
  const { body: rule } = await push([{}, {}], 'source_hash')
  t.match(await patch(rule.rule_id, { source_hash_ipv6_prefix: 64 }), {
    status: 200,
    body: { source_hash_ipv6_prefix: 64 }
  })
  t.match(planned(), { by: 'source_hash', ipv6Prefix: 64 })
  t.match(await patch(rule.rule_id, { balance: 'round_robin' }), {
    status: 400,
    body: { error: { code: 'validation.balance', details: { field: '/source_hash_ipv6_prefix' } } }
  } as object)
  t.match(await patch(rule.rule_id, { balance: null, source_hash_ipv6_prefix: null }), { status: 200 })
  for (const [option, value] of [
    ['slow_connect_ms', 100],
    ['slow_start_secs', 5],
    ['source_hash_ipv6_prefix', 64]
  ])
    t.match(await patch(rule.rule_id, { [String(option)]: value }), {
      status: 400,
      body: { error: { code: 'validation.balance', details: { field: `/${option}` } } }
    } as object)
  t.match(await patch(rule.rule_id, { balance: 'round_robin', slow_connect_ms: 3001 }), { status: 400 })
  t.match((await server.call('GET', `/v1/rules/${rule.rule_id}`)).body, {
    balance: null,
    slow_start_secs: null
  })
})

t.test('a change cannot set all weights to 0', async t => {
  const { push, patch } = await openApp(t)
  const { body: rule } = await push([{}, {}], 'weighted')
  const host = (at: number, weight: number) => ({ host: `10.0.0.${at}`, port: 80, weight })
  for (const [targets, field] of [
    [[host(1, 0), host(2, 0)], '/targets'],
    [[host(1, 2)], '/targets/0/weight']
  ] as const)
    t.match(await patch(rule.rule_id, { targets }), {
      status: 400,
      body: { error: { code: 'validation.weight', details: { field } } }
    } as object)
})

t.test('an invalid value is refused with the name of the field', async t => {
  const { push } = await openApp(t)
  for (const [targets, balance, code, field] of [
    [[{}, {}], 'fastest', 'validation.balance', '/balance'],
    [[{}, {}], 1, 'validation.balance', '/balance'],
    [[{ weight: 0 }, { weight: 0 }], 'weighted', 'validation.weight', '/targets'],
    [[{ weight: 2 }], null, 'validation.weight', '/targets/0/weight'],
    [[{ weight: 0 }], 'weighted', 'validation.weight', '/targets/0/weight'],
    [[{ weight: 257 }, {}], 'weighted', 'validation.weight', '/targets/0/weight'],
    [[{}, { weight: -1 }], 'weighted', 'validation.weight', '/targets/1/weight'],
    [[{}, { weight: 1.5 }], 'weighted', 'validation.weight', '/targets/1/weight']
  ] as const)
    t.match(
      await push(targets, balance),
      { status: 400, body: { error: { code, details: { field } } } } as object,
      JSON.stringify([targets, balance])
    )
})
