// The plugin loaded by path, with another beside it: real servers and agents, real callers.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { offerPublicModules } from '../../../../config/external/import.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform } from '../../../../kit/conformance.ts'
import { rulesFixture, until } from '../../../../plugins/rules/test/fixture.ts'
import { messages, RuleRemove } from '../../../../plugins/rules/wire.ts'
import { freePort } from '../../../support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../../../support/test-cluster.ts'
import { startWebServer } from '../../../support/web.ts'

const folder = join(import.meta.dirname, '..')
const beside = join(folder, '..', 'schedule')
const config = `[plugins."${folder}"]\n[plugins."${beside}"]\n`

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(folder)).problems, [])
})

async function openApp(t: Test) {
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', plugin] })
  const capabilities = { 'rule.expires-at': '1.0.0' }
  const known = [...messages, ...(plugin.messages ?? [])]
  return { ...app, agent: await app.connect(await app.enroll(), { capabilities, messages: known }) }
}

t.test('a time in the past is refused; one in the future is normalised, changed and taken away', async t => {
  const app = await openApp(t)

  t.match(await app.push({ expires_at: '2026-01-15T11:59:59Z' }), {
    status: 400,
    body: { error: { code: 'validation.expires_in_past', details: { field: '/expires_at' } } }
  })
  t.match(await app.push({ expires_at: 'tomorrow' }), { status: 400 })
  const { body } = await app.push({ expires_at: '2026-01-15T14:00:00+01:00' })
  t.equal(body['expires_at'], '2026-01-15T13:00:00.000Z')
  const put = (expires_at: string | null) => app.call('PUT', `/v1/rules/${body.rule_id}`, { expires_at })
  t.match(await put('2026-01-16T00:00:00Z'), { body: { expires_at: '2026-01-16T00:00:00.000Z' } })
  t.match(await put(null), { body: { expires_at: null } })
})

t.test('the server removes a rule at its time, by the plugin itself in the audit', async t => {
  const { agent, ...app } = await openApp(t)
  const { rule_id: id } = (await app.push({ expires_at: '2026-01-15T12:00:05Z' })).body

  await app.clock.advance(4000)
  t.match(await app.get(id), { state: 'active' })
  await app.clock.advance(2000)

  t.match((await agent.until(RuleRemove.name)).body, { rule_id: id, removal: 'drain' })
  await until(
    async () => app.decisions.filter(({ action }) => action === 'rule.expire'),
    ({ length }) => length > 0
  )
  await app.clock.advance(10_000)
  t.match(
    app.decisions.filter(({ action }) => action === 'rule.expire'),
    [{ actor: '_expiry', resourceId: id, status: 200 }],
    'once, while it drains'
  )
})

/** Creates a rule to a web server that ends `ms` from now, and returns what a caller of it gets. */
async function createRule(t: Test, cluster: TestCluster, ms: number) {
  const port = await freePort()
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'edge',
    listen_port: port,
    targets: [{ host: '127.0.0.1', port: await startWebServer(t) }],
    expires_at: new Date(Date.now() + ms).toISOString()
  })
  const answer = (): Promise<string> =>
    fetch(`http://127.0.0.1:${port}`).then(
      reply => reply.text(),
      (error: Error) => (error.cause as { readonly code: string }).code
    )
  return { id, answer }
}

t.test('a real rule forwards until its time, and is gone after it', async t => {
  const cluster = await testCluster(t, {}, config)
  await startAgent(t, cluster, 'edge', { args: ['--config', cluster.configFile] })
  const { id, answer } = await createRule(t, cluster, 8000)
  t.match(await answer(), /^hello from/)

  await cluster.server.until('rule.removed', ({ rule }) => rule === id)

  t.equal(await answer(), 'ECONNREFUSED')
  const entries = await cluster.call<{ action: string }[]>('GET', '/v1/audit')
  t.match(
    entries.filter(({ action }) => action === 'rule.expire'),
    [{ actor: '_expiry', resource_id: id, status: 200 }]
  )
})

t.test('a rule ends without the server, too, and stays closed over a restart of the agent', async t => {
  const cluster = await testCluster(t, {}, config)
  const edge = await startAgent(t, cluster, 'edge', { args: ['--config', cluster.configFile] })
  const { id, answer } = await createRule(t, cluster, 20_000)
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
  t.match(await answer(), /^hello from/)

  while ((await answer()).startsWith('hello')) await new Promise(resolve => setTimeout(resolve, 50))
  t.match(await answer(), /ECONNRESET|UND_ERR_SOCKET/)
  edge.agent.signal('SIGTERM')
  await edge.agent.exit
  edge.restart()
  await edge.agent.until('rule.opened')
  t.match(await answer(), /ECONNRESET|UND_ERR_SOCKET/, 'the first caller is refused')

  await cluster.restart()
  await cluster.server.until('rule.removed', ({ rule }) => rule === id)
})
