// The field at the server, and the plan of the agent half, on the kit's engine.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../../../agent/plugin.ts'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform, runAgent, testServer } from '../../../../kit/public.ts'
import { freePort } from '../../../support/ports.ts'

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above
const { default: half } = (await import('../agent.ts')) as { default: AgentPlugin }

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'))).problems, [])
})

async function open(t: Test) {
  const port = await freePort()
  const server = await testServer(t, { plugins: [plugin] })
  const agent = await runAgent(t, server, 'paris', { plugins: [half], sections: { tarpit: { port } } })
  const push = (more: object) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'paris',
      listen_port: 8080,
      targets: [{ host: '10.0.0.1', port: 80 }],
      ...more
    })
  return { server, agent, push, port }
}

t.test('a rule diverts its sources; a hot change and the removal change its set', async t => {
  const { server, agent, push, port } = await open(t)
  const { rule_id } = (await push({ tarpit: { sources: ['192.0.2.0/24', '192.0.2.0/24'], max: 2 } })).body
  const set = `tarpit ${rule_id}`
  const [rule] = agent.engine.opened
  t.match(rule?.diverts, [
    {
      name: 'tarpit',
      from: [set],
      targets: [{ host: '127.0.0.1', port }],
      refusalBeyond: { max: 2, reason: 'tarpit_full' }
    }
  ])
  t.equal(agent.engine.divertOf(rule?.id ?? 0, '192.0.2.7'), 'tarpit')
  t.equal(agent.engine.divertOf(rule?.id ?? 0, '198.51.100.7'), null)

  const url = `/v1/rules/${rule_id}`
  const changed = { tarpit: { sources: ['2001:db8::/32'], max: 2 } }
  t.equal((await server.call('PUT', url, changed)).status, 200)
  t.same(agent.engine.addresses.get(set), new Set(['2001:db8::/32']))
  t.equal((await server.call('PUT', url, { tarpit: null })).status, 200)
  t.same(agent.engine.addresses.get(set), new Set())
  t.same(agent.engine.opened.at(-1)?.diverts, [])
})

t.test('a bad source, a range and UDP are refused with the field', async t => {
  const { agent, push } = await open(t)
  const sources = ['192.0.2.0/24', '10.0.0.0/33']
  const bad = await push({ tarpit: { sources } })
  t.match(bad, { status: 400, body: { error: { details: { field: '/tarpit/sources/1' } } } })
  t.match(bad.text, /must be a prefix like 192\.0\.2\.0\/24, got 10\.0\.0\.0\/33/)
  for (const shape of [{ protocol: 'udp' }, { listen_port_end: 8081 }])
    t.match(await push({ ...shape, tarpit: { sources: ['::/0'] } }), {
      status: 400,
      body: { error: { code: 'validation.tarpit', details: { field: '/tarpit' } } }
    })
  t.equal(agent.engine.opened.length, 0)
})
