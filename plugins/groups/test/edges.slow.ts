// Three real agents serve the rule of their group through joins, changes, a crash, a pause and a delete.
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  testCluster
} from '../../../test/support/test-cluster.ts'
import type { RuleStats } from '../../stats/schema.ts'
import type { GroupRule } from './fixture.ts'

/** Starts a server that says `name` to each caller, and then returns what it gets. */
async function openTarget(t: Test, name: string) {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.write(name)
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { readonly port: number } // of a TCP server
  return { host: '127.0.0.1', port }
}

/** All agents run on this host, each with its own address. */
async function openEdge(t: Test, cluster: TestCluster, name: string, address: string) {
  mkdirSync(join(cluster.dir, 'config'), { recursive: true })
  const config = join(cluster.dir, 'config', `${name}.toml`)
  writeFileSync(config, `bind = ["${address}"]\n`)
  const agent = await startAgent(t, cluster, name, { args: ['--config', config] })
  return { ...agent, agent, address }
}

/** Returns the open connection and what the target said first; null: refused. */
async function call(address: string, port: number): Promise<{ socket: Socket; said: string } | null> {
  const socket = connect(port, address)
  try {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    return { socket, said: String(bytes) }
  } catch {
    return null
  }
}

async function said(address: string, port: number): Promise<string | null> {
  const reply = await call(address, port)
  reply?.socket.destroy()
  return reply?.said ?? null
}

async function untilSaid(address: string, port: number, wanted: string | null): Promise<number> {
  const start = performance.now()
  while ((await said(address, port)) !== wanted) await after(5)
  return Math.round(performance.now() - start)
}

async function echoed(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  let got = ''
  while (got.length < text.length) got += String((await once(socket, 'data'))[0])
  return got
}

const kill = async ({ agent }: { agent: RunningAgent }): Promise<void> => {
  agent.agent.signal('SIGKILL')
  await agent.agent.exit
}

t.test('three agents forward the rule of their group', async t => {
  const cluster = await testCluster(t)
  const paris = await openEdge(t, cluster, 'paris', '127.0.1.1')
  const lyon = await openEdge(t, cluster, 'lyon', '127.0.1.2')
  const nice = await openEdge(t, cluster, 'nice', '127.0.1.3')
  const all = [paris, lyon, nice]
  const [a, b, c] = [await openTarget(t, 'a'), await openTarget(t, 'b'), await openTarget(t, 'c')]
  const label = (id: string, env: string | null) =>
    cluster.call('PATCH', `/v1/clients/${id}`, { labels: { env } })
  for (const { clientId } of [paris, lyon]) await label(clientId, 'prod')
  const port = await freePort()
  const rule = await cluster.call<GroupRule>('POST', '/v1/rules', {
    ...{ clients: { selector: 'env=prod' }, listen_port: port, targets: [a] }
  })
  const path = `/v1/rules/${rule.rule_id}`
  t.equal(rule.state, 'active')
  t.same(await Promise.all(all.map(({ address }) => said(address, port))), ['a', 'a', null])

  await label(nice.clientId, 'prod')
  t.comment(`the client that joins serves after ${await untilSaid(nice.address, port, 'a')} ms`)

  const live = await Promise.all(all.map(({ address }) => call(address, port)))
  await cluster.call('PATCH', path, { targets: [b] })
  t.same(await Promise.all(all.map(({ address }) => said(address, port))), ['b', 'b', 'b'])
  const sizes = [1000, 20_000, 300_000]
  for (const [at, connection] of live.entries()) {
    const text = 'x'.repeat(sizes[at] ?? 0)
    t.equal(connection && (await echoed(connection.socket, text)), text, 'a live connection continues')
    connection?.socket.destroy()
  }

  let stats: RuleStats
  do {
    stats = await cluster.call<RuleStats>('GET', `${path}/stats?per_client=true`)
    await after(200)
  } while (stats.bytes_in < 321_000)
  t.equal(stats.bytes_in, 321_000, 'the books are exact')
  t.same(Object.fromEntries((stats.per_client ?? []).map(edge => [edge.client_name, edge.bytes_in])), {
    paris: 1000,
    lyon: 20_000,
    nice: 300_000
  })

  await kill(lyon)
  await cluster.call('PATCH', path, { targets: [c] })
  t.same(await Promise.all([paris, nice].map(({ address }) => said(address, port))), ['c', 'c'])
  lyon.agent.restart()
  t.comment(`the client that was offline has the change after ${await untilSaid(lyon.address, port, 'c')} ms`)

  await cluster.call('POST', `${path}/pause`)
  t.same(await Promise.all(all.map(({ address }) => said(address, port))), [null, null, null])
  await cluster.call('POST', `${path}/resume`)
  t.same(await Promise.all(all.map(({ address }) => said(address, port))), ['c', 'c', 'c'])

  await label(paris.clientId, null)
  t.comment(`the client that leaves refuses after ${await untilSaid(paris.address, port, null)} ms`)
  t.same(await Promise.all([lyon, nice].map(({ address }) => said(address, port))), ['c', 'c'])

  await cluster.call('DELETE', path)
  t.same(await Promise.all(all.map(({ address }) => said(address, port))), [null, null, null])

  const target = `${a.host}:${a.port}`
  const pushed = await cluster.cli(['rule', 'push', '--clients', 'paris,nice', String(port), target])
  t.match(pushed, { code: 0, stdout: /2 clients\n {2}nice {3}active\n {2}paris {2}active\n/ })
  t.same(await Promise.all(all.map(({ address }) => said(address, port))), ['a', null, 'a'])
})
