// The plugin loaded by path: a real server and agent, real callers, and a collector.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../../../agent/plugin.ts'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform, runAgent, testServer } from '../../../../kit/public.ts'
import { freePort } from '../../../support/ports.ts'
import { startAgent, testCluster } from '../../../support/test-cluster.ts'
import { get, startWebServer } from '../../../support/web.ts'

const folder = join(import.meta.dirname, '..')

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(folder)).problems, [])
})

/** Starts a collector. `lines` resolves with its lines once it has `count` of them. */
async function startCollector(t: Test) {
  const got: Record<string, unknown>[] = []
  const wake = new EventTarget()
  const server = createServer(async (request, response) => {
    const body = await text(request)
    got.push(
      ...body
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line))
    )
    response.end()
    wake.dispatchEvent(new Event('lines'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async lines(count: number) {
      while (got.length < count) await once(wake, 'lines')
      return got
    }
  }
}

t.test('each ended connection of the rule ships one line, and other rules ship none', async t => {
  const collector = await startCollector(t)
  const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
  const agentConfig = join(dirname(cluster.configFile), 'agent.toml')
  writeFileSync(agentConfig, `[plugins."${folder}"]\ncollector = "${collector.url}"\n`)
  await startAgent(t, cluster, 'edge', { args: ['--config', agentConfig] })
  const target = await startWebServer(t)
  const push = async (connection_log: boolean) => {
    const port = await freePort()
    const targets = [{ host: '127.0.0.1', port: target }]
    const body = { client: 'edge', listen_port: port, targets, connection_log }
    const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
    return { id, port }
  }
  const logged = await push(true)
  const silent = await push(false)

  t.match(await get(`http://127.0.0.1:${silent.port}`), /^hello from/)
  for (const count of [1, 2]) {
    t.match(await get(`http://127.0.0.1:${logged.port}`), /^hello from/)
    await collector.lines(count)
  }

  const lines = await collector.lines(2)
  t.equal(lines.length, 2)
  for (const line of lines)
    t.match(line, {
      rule_id: logged.id,
      source: { address: '127.0.0.1' },
      listen: { address: '127.0.0.1', port: logged.port },
      target: { address: '127.0.0.1', port: target },
      bytesIn: Number,
      bytesOut: Number,
      end: /_closed$/,
      refusal: null,
      opened_at: /^20.*Z$/
    })
})

t.test('an unreachable collector loses only log lines', async t => {
  const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
  const agentConfig = join(dirname(cluster.configFile), 'agent.toml')
  writeFileSync(agentConfig, `[plugins."${folder}"]\ncollector = "http://127.0.0.1:${await freePort()}"\n`)
  const { agent } = await startAgent(t, cluster, 'edge', { args: ['--config', agentConfig] })
  const port = await freePort()
  const targets = [{ host: '127.0.0.1', port: await startWebServer(t) }]
  await cluster.call('POST', '/v1/rules', {
    client: 'edge',
    listen_port: port,
    targets,
    connection_log: true
  })

  t.match(await get(`http://127.0.0.1:${port}`), /^hello from/)
  t.match(await agent.until('connection_log.not_shipped'), { level: 'warn', msg: /1 lines lost/ })
  t.match(await get(`http://127.0.0.1:${port}`), /^hello from/)
})

t.test('sluice agent connection-log shows the numbers of shipped and lost lines', async t => {
  const collector = await startCollector(t)
  offerPublicModules()
  const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin }
  const { default: half } = (await import('../agent.ts')) as { default: AgentPlugin }
  const server = await testServer(t, { plugins: [plugin] })
  const sections = { 'connection-log': { collector: collector.url } }
  const agent = await runAgent(t, server, 'edge', { plugins: [half], sections })

  t.same(await agent.ask('connection-log'), { shipped: 0, lost: 0 })
  agent.engine.emit({ kind: 'connections-ended', ended: [], lost: 3 })
  await collector.lines(1)

  t.match(await agent.ask('connection-log'), { lost: 3 })
})
