// The rule field in both halves: a server, and an agent on a fake engine.
import t, { type Test } from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  const push = (amplification: unknown, protocol = 'udp') =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: 8080,
      targets: [{ host: '10.0.0.1', port: 80 }],
      protocol,
      amplification
    })
  const planned = () => [...agent.engine.rules.values()].at(-1)?.replyCap
  return { server, agent, push, planned }
}

t.test('the engine gets the cap of a rule and its changes, until the field is removed', async t => {
  const { server, push, planned } = await openApp(t)
  const { status, body } = await push({ ratio: 2 })
  t.match({ status, body }, { status: 201, body: { amplification: { ratio: 2, proven_after: 8 } } })
  t.same(planned(), { ratio: 2, provenAfter: 8, refusal: 'amplification' })

  await server.call('PATCH', `/v1/rules/${body.rule_id}`, { amplification: { proven_after: 0 } })
  t.same(planned(), { ratio: 2, provenAfter: 0, refusal: 'amplification' })
  await server.call('PATCH', `/v1/rules/${body.rule_id}`, { amplification: null })
  t.equal(planned(), null)
})

t.test('an invalid cap is refused with the name of its property', async t => {
  const { server, push } = await openApp(t)
  for (const [cap, protocol, field] of [
    [{ ratio: 3 }, 'tcp', '/amplification'],
    [{ ratio: 1.5 }, 'udp', '/amplification/ratio'],
    [{ ratio: 1001 }, 'udp', '/amplification/ratio'],
    [{ ratio: 3, proven_after: -1 }, 'udp', '/amplification/proven_after'],
    [3, 'udp', '/amplification']
  ] as const)
    t.match(
      await push(cap, protocol),
      { status: 400, body: { error: { code: 'validation.amplification', details: { field } } } } as object,
      JSON.stringify(cap)
    )

  const { body } = await push({ ratio: 3 })
  t.match(await server.call('PATCH', `/v1/rules/${body.rule_id}`, { amplification: { ratio: 0 } }), {
    status: 400,
    body: { error: { code: 'validation.amplification', details: { field: '/amplification/ratio' } } }
  })
})
