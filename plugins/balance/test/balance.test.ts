// The rule field in both halves: a server, and an agent on a fake engine.
import t, { type Test } from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'

interface Record {
  readonly rule_id: string
  readonly targets: readonly { readonly priority: number; readonly weight: number }[]
}

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  let port = 8080
  const push = (targets: readonly object[], balance: unknown) =>
    server.call<Record>('POST', '/v1/rules', {
      ...{ client: 'edge', listen_port: port++, balance },
      targets: targets.map((target, at) => ({ host: `10.0.0.${at + 1}`, port: 80, ...target }))
    })
  const patch = (id: string, body: object) => server.call<Record>('PATCH', `/v1/rules/${id}`, body)
  const planned = () => [...agent.engine.rules.values()].at(-1)?.balance
  return { server, agent, push, patch, planned }
}

t.test('each way of spreading becomes a balance of the engine, by priority and weight', async t => {
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
        ...{ balance, state: 'active' },
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

t.test('by priority is the default, in the order of the request, and is shown as null', async t => {
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

t.test('what has no meaning is refused with the field', async t => {
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
