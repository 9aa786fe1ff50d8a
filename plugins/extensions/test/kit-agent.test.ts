// The full agent of the kit, restarts, and all kinds of credentials, as tests of plugins use them.
import t from 'tap'
import { type AgentPlugin, defineCommand } from '../../../agent/plugin.ts'
import { runAgent, testServer } from '../../../kit/public.ts'

const rule = {
  client: 'paris',
  listen_port: 8080,
  targets: [{ host: '10.0.0.1', port: 80 }],
  rate_limit: { concurrent_connections: 3 }
}

t.test('real server and agent put a rule in force, and it survives a restart of either', async t => {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'paris')
  const { status, body } = await server.call<{ rule_id: string }>('POST', '/v1/rules', rule)
  t.equal(status, 201)
  const opened = (): unknown[] => [...agent.engine.rules.values()]
  t.match(opened(), [{ from: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }])
  t.ok(
    [...agent.engine.meters.values()].some(({ connections }) => connections === 3),
    'its limit'
  )

  await agent.restart()
  t.match(opened(), [{ from: 8080 }], 'from its saved state')
  await server.restart()
  await agent.connected()

  t.match(await agent.status(), { connected: true, client_name: 'paris', rules: { open: 1 } })
  t.match(await server.call('GET', `/v1/rules/${body.rule_id}`), { body: { state: 'active' } })
  t.match(await server.call('DELETE', `/v1/rules/${body.rule_id}`), { status: 204 })
  t.same(opened(), [])
})

t.test('an agent runs while its server is stopped, and reconnects later', async t => {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'paris')
  await server.stop()
  await server.clock.advance(60_000)
  t.match(await agent.status(), { connected: false })
  await agent.restart()
  t.match(await agent.status(), { connected: false, reason: /^unreachable/ })
  await server.restart()
  await agent.connected()

  t.match(await agent.status(), { connected: true })
})

const acme: AgentPlugin = {
  name: 'acme',
  agent: '^1.1.0',
  commands: [
    defineCommand({
      name: 'acme',
      summary: 'Show the greeting.',
      run: ({ call }) => ({ ...(call.config as object) })
    })
  ]
}

t.test('a given agent half gets its configuration and commands', async t => {
  const server = await testServer(t)
  const { Type } = await import('typebox')
  const configured = { ...acme, config: Type.Object({ greeting: Type.String() }) }

  const agent = await runAgent(t, server, 'paris', {
    plugins: [configured],
    sections: { acme: { greeting: 'hello' } }
  })

  t.same(await agent.ask('acme'), { greeting: 'hello' })
  await t.rejects(runAgent(t, server, 'lyon', { plugins: [configured] }), /plugins\.acme/)
})

t.test('the kit has a credential for each kind of user', async t => {
  const server = await testServer(t)
  const { clientId } = await runAgent(t, server, 'paris')
  const me = (...[who]: Parameters<typeof server.as>) => server.as(who)('GET', '/v1/users/me')

  t.match(await server.as('operator')('GET', '/v1/clients'), { status: 200 })
  t.match(await me('nobody'), { status: 401 })
  t.match(await me({ client: clientId }), { status: 401 })
  t.match(await me({ user: 'ann' }), { status: 200, body: { user_id: 'ann', role: 'user' } })
  t.match(await me({ user: 'ann', by: 'api_token' }), { status: 200, body: { user_id: 'ann' } })
  t.match(await me({ user: 'root', role: 'superadmin' }), { body: { role: 'superadmin' } })
  t.match(
    await server.as({ user: 'root', role: 'superadmin' })('POST', '/v1/users', {
      user_id: 'bob',
      display_name: 'Bob'
    }),
    { status: 201 },
    'a session sends its proof against forged requests'
  )
  t.match(await server.as({ user: 'bob' })('GET', '/v1/users'), { status: 403 })
  await server.restart()
  t.match(await me({ user: 'ann' }), { status: 200 }, 'its session outlives a restart')
})
