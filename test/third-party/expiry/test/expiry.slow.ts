// Loads the plugin by path beside another one. Real processes, real callers, and real time.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../../support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../../../support/test-cluster.ts'
import { startWebServer } from '../../../support/web.ts'

const folder = join(import.meta.dirname, '..')
const beside = join(folder, '..', 'weekly-hours')
const config = `[plugins."${folder}"]\n[plugins."${beside}"]\n`

/** Creates a rule to a web server that ends `ms` from now. Returns a function that requests a page through it. */
async function createRule(t: Test, cluster: TestCluster, ms: number) {
  const port = await freePort()
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'edge',
    listen_port: port,
    targets: [{ host: '127.0.0.1', port: await startWebServer(t) }],
    ends_at: new Date(Date.now() + ms).toISOString()
  })
  const answer = (): Promise<string> =>
    fetch(`http://127.0.0.1:${port}`).then(
      reply => reply.text(),
      (error: Error) => (error.cause as { readonly code: string }).code
    )
  return { id, answer }
}

t.test('a real rule forwards until its end time, and is removed then', async t => {
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

t.test('a rule also ends without the server, and stays closed after a restart of the agent', async t => {
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
