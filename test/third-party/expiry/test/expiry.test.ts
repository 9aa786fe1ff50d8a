// Tests both halves of the plugin with the kit: a server and an agent in this process, with a fake clock.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../../../agent/plugin.ts'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform, runAgent, testServer } from '../../../../kit/public.ts'
import { until } from '../../../../plugins/rules/test/fixture.ts'

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above
const { default: agentHalf } = (await import('../agent.ts')) as { default: AgentPlugin }

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'))).problems, [])
})

async function openApp(t: Test) {
  const server = await testServer(t, { plugins: [plugin] })
  const agent = await runAgent(t, server, 'edge', { plugins: [agentHalf] })
  const push = (ends_at: string) =>
    server.call<{ rule_id: string; ends_at: string }>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: 8080,
      targets: [{ host: '10.0.0.1', port: 80 }],
      ends_at
    })
  const expirations = () => server.decisions.filter(({ action }) => action === 'rule.expire')
  return { server, agent, push, expirations }
}

t.test(
  'a time in the past is refused; a time in the future is normalized and can be changed and removed',
  async t => {
    const { server, push } = await openApp(t)

    t.match(await push('2026-01-15T11:59:59Z'), {
      status: 400,
      body: { error: { code: 'validation.ends_in_past', details: { field: '/ends_at' } } }
    })
    t.match(await push('tomorrow'), { status: 400 })
    const { body } = await push('2026-01-15T14:00:00+01:00')
    t.equal(body.ends_at, '2026-01-15T13:00:00.000Z')
    const put = (ends_at: string | null) => server.call('PUT', `/v1/rules/${body.rule_id}`, { ends_at })
    t.match(await put('2026-01-16T00:00:00Z'), { body: { ends_at: '2026-01-16T00:00:00.000Z' } })
    t.match(await put(null), { body: { ends_at: null } })
  }
)

t.test('the server removes a rule at its end time, and the audit log names the plugin', async t => {
  const { server, agent, push, expirations } = await openApp(t)
  const { rule_id: id } = (await push('2026-01-15T12:00:05Z')).body

  await server.clock.advance(4000)
  t.match(await server.call('GET', `/v1/rules/${id}`), { body: { state: 'active' } })
  await server.clock.advance(2000)
  await until(
    async () => agent.engine.rules.size,
    size => size === 0
  )

  await server.clock.advance(10_000)
  t.match(expirations(), [{ actor: '_expiry', resourceId: id, status: 200 }], 'once')
})

t.test('a rule also ends without the server, and stays closed after a restart of the agent', async t => {
  const { server, agent, push, expirations } = await openApp(t)
  const { rule_id: id } = (await push('2026-01-15T12:00:20Z')).body
  await server.stop()
  await server.clock.advance(19_000)
  t.match(await agent.status(), { connected: false, rules: { open: 1, closed: 0 } })

  await server.clock.advance(1000)

  const expired = { rules: { open: 0, closed: 1 }, not_in_force: [{ id, reason: 'expired' }] }
  t.match(await agent.status(), expired)
  await agent.restart()
  t.match(await agent.status(), expired)

  await server.restart()
  await agent.connected()
  await server.clock.advance(1000)
  t.match(expirations(), [{ actor: '_expiry', resourceId: id }])
})
