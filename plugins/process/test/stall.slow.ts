import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster, token } from '../../../test/support/test-cluster.ts'
import { get, startWebServer } from '../../../test/support/web.ts'
import { pluginOfScript, pluginOfStack } from '../blamed-plugin.ts'

const looper = join(import.meta.dirname, 'looper')
const dropper = join(import.meta.dirname, 'dropper')

t.test(
  'the log names the plugin that blocks the server, forwarding continues, and the server recovers',
  async t => {
    const cluster = await testCluster(
      t,
      {},
      `[plugins."${looper}"]
[plugins.process]
patience_secs = 0.5
`
    )
    await startAgent(t, cluster, 'paris')
    const page = await startWebServer(t)
    const port = await freePort()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({
      client: 'paris',
      listen_port: port,
      targets: [{ host: '127.0.0.1', port: page }]
    })
    await fetch(`${cluster.origin}/v1/rules`, { method: 'POST', headers, body })

    const blocking = fetch(`${cluster.origin}/v1/spin`, { method: 'POST', headers })

    t.match(await cluster.server.until('server.stalled'), {
      plugin: 'looper',
      script: /looper\/plugin\.js$/,
      function: 'run'
    })
    t.ok(await get(`http://127.0.0.1:${port}/`), 'the agent still forwards')
    t.equal((await blocking).status, 204)
    await cluster.server.until('server.moves_again')
  }
)

t.test('the log names the plugin that blocks an agent, and the engine keeps forwarding', async t => {
  const cluster = await testCluster(t, {}, `[plugins."${looper}"]\n`)
  const { agent } = await startAgent(t, cluster, 'paris', { args: ['--config', cluster.configFile] })
  const page = await startWebServer(t)
  const port = await freePort()
  const next = await freePort()
  const push = (listen_port: number) =>
    cluster.call('POST', '/v1/rules', {
      client: 'paris',
      listen_port,
      targets: [{ host: '127.0.0.1', port: page }]
    })
  await push(port)

  void push(next).catch(() => {}) // it may get no answer in time

  t.match(await agent.until('agent.stalled'), {
    plugin: 'looper',
    script: /looper\/agent\.js$/,
    function: 'meters'
  })
  t.ok(await get(`http://127.0.0.1:${port}/`))
  await agent.until('agent.moves_again')
})

t.test(
  'errors of a plugin in a timer, a listener, a socket or a lost promise do not end the server',
  async t => {
    const cluster = await testCluster(t, {}, `[plugins."${looper}"]\n`)
    const drop = (by: string) => cluster.call('POST', `/v1/drop?by=${by}`)

    await drop('socket')
    t.match(await cluster.server.until('plugin.failed'), { plugin: 'looper', error: /ECONNREFUSED/ })
    for (const by of ['listener', 'promise', 'timer']) await drop(by)

    for (const count of [2, 4])
      t.match(
        await cluster.server.until('plugin.failed', ({ msg }) => String(msg).includes(`, ${count} so far`)),
        {
          plugin: 'looper',
          error: /dropped/
        }
      )
    await cluster.call('GET', '/v1/users/me')
  }
)

t.test(
  'a timer of a plugin that always fails is logged once with the plugin name, and ends nothing',
  async t => {
    const { server, call } = await testCluster(t, {}, `[plugins."${looper}"]\n`)

    await call('POST', '/v1/beat')

    const failed = { plugin: 'looper', error: /dropped/ }
    t.match(await server.until('plugin.failed', ({ hook }) => hook === 'clock.every'), failed)
    t.match(await server.until('plugin.failed', ({ hook }) => hook === 'clock.after'), failed)
    await call('GET', '/v1/users/me')
    t.equal(server.count('plugin.failed'), 2)
  }
)

t.test('an uncaught error of the server itself ends it, and the log names it', async t => {
  const cluster = await testCluster(t, {}, `[plugins."${looper}"]\n`)
  const headers = { authorization: `Bearer ${token}` }
  void fetch(`${cluster.origin}/v1/drop?by=server`, { method: 'POST', headers }).catch(() => {}) // it may get no answer

  t.match(await cluster.server.until('server.crashed'), { plugin: 'the server', error: /dropped/ })
  t.equal(await cluster.server.exit, 1)
})

t.test('a script belongs to a plugin, a package or the server', async t => {
  t.equal(pluginOfScript(new URL('../../rules/api/routes.ts', import.meta.url).href, 'server'), 'rules')
  t.equal(pluginOfScript(new URL('../../../kernel/kernel.ts', import.meta.url).href, 'server'), 'the server')
  t.equal(pluginOfScript('node:internal/timers', 'server'), 'the server')
  const urlOf = (file: string): string => new URL(`../../../${file}`, import.meta.url).href
  const kernel = urlOf('kernel/kernel.ts')
  const rules = urlOf('plugins/rules/api/routes.ts')
  const library = urlOf('node_modules/pino/pino.js')
  t.equal(
    pluginOfStack(`Error\n at a (${library}:1:2)\n at b (${kernel}:3:4)\n at ${rules}:5:6`, 'server'),
    'rules'
  )
  t.equal(pluginOfStack(`Error\n at a (node:fs:1:2)`, 'server'), 'the server')
})

t.test(
  'errors of a plugin in a timer or a socket do not end the agent, and the log names the plugin',
  async t => {
    const cluster = await testCluster(t)
    const config = join(cluster.dir, 'agent.toml')
    writeFileSync(config, `[plugins."${dropper}"]\n`)
    const { agent } = await startAgent(t, cluster, 'paris', { args: ['--config', config] })
    const targets = [{ host: '127.0.0.1', port: 9 }]
    void cluster
      .call('POST', '/v1/rules', { client: 'paris', listen_port: await freePort(), targets })
      .catch(() => {}) // it may get no answer

    const failed = (what: RegExp) => agent.until('plugin.failed', ({ error }) => what.test(String(error)))
    t.match(await failed(/ECONNREFUSED/), { plugin: 'dropper' })
    t.match(await failed(/dropped/), { plugin: 'dropper' })
    t.ok(await cluster.call('GET', '/v1/rules'))
  }
)
