// A real server and agent with the native engine, and callers from two loopback addresses.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../../support/ports.ts'
import { startAgent, statsOf, testCluster } from '../../../support/test-cluster.ts'
import { get, startWebServer } from '../../../support/web.ts'

const folder = join(import.meta.dirname, '..')
const slow = '127.0.0.2'

interface Row {
  readonly source: string
  readonly target: string | null
  readonly divert: string | null
}

function call(t: Test, port: number, localAddress: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  return socket
}

t.test('listed sources get the tarpit, others the target; beyond the maximum they are refused', async t => {
  const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
  const port = await freePort()
  const agentConfig = join(dirname(cluster.configFile), 'agent.toml')
  writeFileSync(agentConfig, `[plugins."${folder}"]\nport = ${port}\nevery_secs = 1\n`)
  const paris = await startAgent(t, cluster, 'paris', { args: ['--config', agentConfig] })
  const target = await startWebServer(t)
  const options = ['--tarpit-sources', slow, '--tarpit-max', '1', '--config', cluster.configFile]
  const rule = await cluster.json<{ rule_id: string; listen_port: number }>(
    ...['rule', 'push', 'paris', String(await freePort()), `127.0.0.1:${target}`, ...options]
  )

  const caught = call(t, rule.listen_port, slow)
  for (let bytes = 0; bytes < 2; bytes++) t.equal(String((await once(caught, 'data'))[0]), '.')
  const refused = call(t, rule.listen_port, slow)
  await new Promise(resolve => refused.resume().once('close', resolve))
  t.equal(refused.bytesRead, 0)
  t.match(await get(`http://127.0.0.1:${rule.listen_port}`), /^hello from/)

  const rows = await cluster.json<Row[]>('connection', 'list', '--source', slow)
  t.match(rows, [{ source: /^127\.0\.0\.2:/, target: `127.0.0.1:${port}`, divert: 'tarpit' }])
  const where = `paris:${rule.listen_port}`
  const full = await cluster.cli(['explain', where, '--source', slow])
  t.equal(full.code, 1)
  t.match(full.stdout, /tarpit_full/)
  caught.destroy()
  const freed = async (): Promise<boolean> =>
    (await cluster.json<Row[]>('connection', 'list', '--source', slow)).length === 0
  while (!(await freed()));
  const told = await cluster.cli(['explain', where, '--source', slow, '--probe'])
  t.equal(told.code, 0, told.stderr)
  t.match(told.stdout, new RegExp(`tarpit diverts callers from 127\\.0\\.0\\.2 to 127\\.0\\.0\\.1:${port}`))
  t.notMatch((await cluster.cli(['explain', where, '--source', '127.0.0.1'])).stdout, /tarpit/)

  const stats = await statsOf(cluster, rule.rule_id, ({ rejected }) => rejected?.['tarpit_full'] === 1)
  t.match(stats, { rejected: { tarpit_full: 1 } })
  t.notMatch(JSON.stringify(stats), new RegExp(`:${port}\\b`), 'the tarpit is no target in statistics')
  t.notMatch(paris.agent.output(), /agent\.row_refused/)
  t.notMatch(cluster.server.output(), /agent\.row_refused/)

  paris.agent.signal('SIGTERM')
  await paris.agent.exit
  paris.restart()
  await paris.agent.until('control.connected')
  const again = call(t, rule.listen_port, slow)
  t.equal(String((await once(again, 'data'))[0]), '.', 'a restart of the agent keeps the tarpit')

  await cluster.call('PUT', `/v1/rules/${rule.rule_id}`, { tarpit: { sources: ['192.0.2.1'], max: 1 } })
  const free = call(t, rule.listen_port, slow)
  free.write('GET / HTTP/1.0\r\n\r\n')
  t.match(String((await once(free, 'data'))[0]), /^HTTP\/1\.[01] 200/)
})
