// A third-party plugin is added, upgraded, removed and added again. Another one loops forever on an agent.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { acmeRelease, withAcme, writeAcme } from '../support/acme.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, testCluster, token } from '../support/test-cluster.ts'
import { download, get, hashOfMib, startWebServer } from '../support/web.ts'

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

async function stop({ server }: TestCluster): Promise<void> {
  server.signal('SIGTERM')
  await server.exit
}

t.test('a plugin keeps its rows when it is added, upgraded after trust, removed and added again', async t => {
  const cluster = await testCluster(t)
  const rows = async () => (await fetch(`${cluster.origin}/v1/acme`, { headers })).json()
  const trust = async () =>
    t.equal((await cluster.cli(['plugin', 'trust', './acme', '--config', cluster.configFile])).code, 0)
  await stop(cluster)

  cluster.configure(withAcme)
  writeAcme(cluster.dir, 'plugin', acmeRelease(1))
  await cluster.restart()
  t.same(await rows(), [{ id: 1 }])
  await stop(cluster)

  writeAcme(cluster.dir, 'plugin', acmeRelease(2), 2)
  await t.rejects(
    cluster.restart(),
    { message: /sluice plugin trust \.\/acme/ },
    'changed files are not trusted'
  )
  await trust()
  await cluster.restart()
  const upgraded = [
    { id: 1, word: 'old' },
    { id: 2, word: 'new' }
  ]
  t.same(await rows(), upgraded)
  await stop(cluster)

  cluster.configure('')
  await cluster.restart()
  t.match(await rows(), { error: { code: 'not_found' } })
  await stop(cluster)

  cluster.configure(withAcme)
  writeAcme(cluster.dir, 'plugin', acmeRelease(1))
  await trust()
  await t.rejects(cluster.restart(), { message: /acme: the database has schema 2, this build knows 1/ })
  writeAcme(cluster.dir, 'plugin', acmeRelease(2), 2)
  await trust()
  await cluster.restart()
  t.same(await rows(), [...upgraded, { id: 3, word: 'new' }])
})

const spinning = `
export default {
  name: 'acme',
  agent: '^1.0.0',
  async start({ call, defer }) {
    const spin = () => {
      call.log.info('acme.spins', 'and never ends')
      for (;;);
    }
    process.on('SIGUSR2', spin)
    defer(() => process.off('SIGUSR2', spin))
  }
}
`

t.test('an agent plugin that loops forever does not stop the native engine', async t => {
  const cluster = await testCluster(t)
  writeAcme(cluster.dir, 'agent', spinning)
  const configFile = join(cluster.dir, 'agent.toml')
  writeFileSync(configFile, withAcme)
  const paris = await startAgent(t, cluster, 'paris', {
    args: ['--config', configFile],
    env: { SVC_ENGINE: 'native' }
  })
  const page = await startWebServer(t)
  const port = await freePort()
  const other = await freePort()
  const push = (listen_port: number, query = ''): Promise<Response> => {
    const body = { client: 'paris', listen_port, targets: [{ host: '127.0.0.1', port: page }] }
    return fetch(`${cluster.origin}/v1/rules${query}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body)
    })
  }
  t.equal((await push(port)).status, 201)
  const running = download(`http://127.0.0.1:${port}/mib/64`, 1 << 20)
  await running.reached(1 << 20)

  paris.agent.signal('SIGUSR2')
  await paris.agent.until('acme.spins')

  t.equal((await push(other, '?ack_timeout_secs=1')).status, 504, 'the agent does not answer')
  t.match(await get(`http://127.0.0.1:${port}/`), /hello/, 'a new connection is served')
  running.resume()
  t.equal(await running.hash, hashOfMib(64), 'and a running download continues')
  await t.rejects(once(connect(other, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
})
