// The rule field in both halves: a server, and an agent on a fake engine.
import t, { type Test } from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  const push = (source_limit: unknown, more: object = {}) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      ...{
        client: 'edge',
        listen_port: 8080,
        targets: [{ host: '10.0.0.1', port: 80 }],
        source_limit,
        ...more
      }
    })
  const patch = (id: string, body: object) => server.call('PATCH', `/v1/rules/${id}`, body)
  const planned = () => [...agent.engine.rules.values()].at(-1)?.sourceLimits
  return { server, agent, push, patch, planned }
}

t.test('the engine gets the limits of a rule, with the same names after each change', async t => {
  const { agent, push, patch, planned } = await openApp(t)
  const { status, body } = await push({ connections: 4, new_connections: 10 })
  t.match({ status, body }, { status: 201, body: { source_limit: { connections: 4, within_secs: 10 } } })
  const refusal = 'source_limit'
  const fresh = `source-limit new ${body.rule_id}`
  const open = `source-limit open ${body.rule_id}`
  t.same(planned(), [
    { name: fresh, of: 'new', max: 10, perMs: 10_000, refusal },
    { name: open, of: 'open', max: 4, perMs: 1, refusal }
  ])

  const changed = await patch(body.rule_id, {
    source_limit: { connections: 9, new_connections: null, within_secs: null }
  })
  t.match(changed, { status: 200, body: { source_limit: { connections: 9, new_connections: null } } })
  t.equal(agent.engine.opened.length, 1, 'live connections continue in the same engine rule')
  t.match(agent.engine.filtersSet.at(-1)?.filters.sourceLimits, [{ name: open, max: 9 }])

  t.match(await patch(body.rule_id, { source_limit: null }), { status: 200, body: { source_limit: null } })
  t.same(agent.engine.filtersSet.at(-1)?.filters.sourceLimits, [])
})

t.test('an agent has the limits after a restart', async t => {
  const { agent, push, planned } = await openApp(t)
  await push({ connections: 4 })
  await agent.restart()
  t.match(planned(), [{ of: 'open', max: 4 }])
})

t.test('an invalid limit is refused with the name of its property', async t => {
  const { push } = await openApp(t)
  for (const [limit, field] of [
    [{ connections: 0 }, '/source_limit/connections'],
    [{ connections: 1.5 }, '/source_limit/connections'],
    [{ new_connections: 1_000_001 }, '/source_limit/new_connections'],
    [{ new_connections: 1, within_secs: 0 }, '/source_limit/within_secs'],
    [{ connections: 1, within_secs: 5 }, '/source_limit/within_secs'],
    [4, '/source_limit']
  ] as const)
    t.match(
      await push(limit),
      { status: 400, body: { error: { code: 'validation.source_limit', details: { field } } } } as object,
      JSON.stringify(limit)
    )
  t.match(await push({}), { status: 201, body: { source_limit: null } })
})
