// Plugin code that hangs times out: the error names the plugin, and everything else continues. Real time.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withAcme, writeAcme } from '../support/acme.ts'
import { start } from '../support/process.ts'
import { startAgent, type TestCluster, testCluster, token } from '../support/test-cluster.ts'

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

async function stopAndConfigure(cluster: TestCluster): Promise<void> {
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
  cluster.configure(withAcme)
}

t.jobs = 3
const parallel = { buffered: true }

t.test('a plugin start that hangs ends the server, and the error names the plugin', parallel, async t => {
  const cluster = await testCluster(t)
  await stopAndConfigure(cluster)
  writeAcme(
    cluster.dir,
    'plugin',
    `import { definePlugin } from 'sluice/plugin'
    export default definePlugin({
      name: 'acme', version: '1.0.0', kernel: '^2.0.0', start: () => new Promise(() => {})
    })`
  )

  await t.rejects(cluster.restart(), { message: /acme.* took more than 10 s/ })
})

t.test('a plugin start that hangs ends the agent, and the error names the plugin', parallel, async t => {
  const cluster = await testCluster(t)
  const { stateDir, agent } = await startAgent(t, cluster, 'paris')
  agent.signal('SIGTERM')
  await agent.exit
  writeAcme(
    cluster.dir,
    'agent',
    `export default { name: 'acme', agent: '^1.0.0', start: () => new Promise(() => {}) }`
  )
  const configFile = join(cluster.dir, 'agent.toml')
  writeFileSync(configFile, withAcme)

  const stuck = start(t, ['agent', 'run', '--state-dir', stateDir, '--config', configFile])

  t.not(await stuck.exit, 0)
  t.match(stuck.output(), /acme.* took more than 10 s/)
})

t.test('a transaction that hangs is rolled back, and waiting requests are served', parallel, async t => {
  const cluster = await testCluster(t)
  await stopAndConfigure(cluster)
  writeAcme(
    cluster.dir,
    'plugin',
    `import { writeSync } from 'node:fs'
    import { definePlugin, defineRoute, Type } from 'sluice/plugin'
    export default definePlugin({
      name: 'acme',
      version: '1.0.0',
      kernel: '^2.0.0',
      routes: [
        defineRoute({
          method: 'POST',
          url: '/v1/acme',
          action: 'acme.hang',
          access: 'superadmin',
          status: 200,
          summary: 'Hangs.',
          schema: () => ({ reply: Type.Object({}) }),
          run: (_deps, { change }) => change({ kind: 'user', id: 'ann' }, () => {
            writeSync(2, '{"event":"acme.hangs"}\\n')
            return new Promise(() => {})
          })
        })
      ]
    })`
  )
  await cluster.restart()
  const hanging = fetch(`${cluster.origin}/v1/acme`, { method: 'POST', headers, body: '{}' })
  await cluster.server.until('acme.hangs')

  await cluster.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })

  t.match(await cluster.server.until('request.failed'), {
    plugin: 'acme',
    error: /a transaction took more than 15 s/
  })
  t.equal((await hanging).status, 500)
})
