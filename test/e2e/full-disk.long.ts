// On a full disk changes are refused at once and everything else continues. No restart is needed afterwards.
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { noSmallDisk as skip, smallDisk } from '../support/small-disk.ts'
import { startAgent, statsOf, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

const timeout = 240_000

const push = (cluster: TestCluster, client: string, port: number, page: number) =>
  cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    client,
    listen_port: port,
    targets: [{ host: '127.0.0.1', port: page }]
  })
const addUser = (cluster: TestCluster, id: string) =>
  cluster.call('POST', '/v1/users', { user_id: id, display_name: id })
const users = async (cluster: TestCluster) =>
  (await cluster.call<{ user_id: string }[]>('GET', '/v1/users')).map(({ user_id }) => user_id)

t.test(
  'on a full disk changes get 503 at once, reads and forwarding continue, and reports are committed once there is space',
  { skip, timeout },
  async t => {
    const disk = smallDisk(t, 16)
    const teardown = (release: () => unknown) => t.teardown(release)
    const cluster = await testCluster({ teardown, testdir: () => disk.dir } as typeof t)
    const paris = await startAgent(t, cluster, 'paris', { args: ['--state-dir', join(t.testdir(), 'paris')] })
    const page = await startWebServer(t)
    const port = await freePort()
    const { rule_id: rule } = await push(cluster, 'paris', port, page)
    await addUser(cluster, 'before')

    disk.fill()
    for (const id of ['a', 'b', 'c']) await t.rejects(addUser(cluster, id), /503 .*store_unavailable.*full/)
    t.match(await cluster.cli(['user', 'create', 'd']), { code: 6 })
    const backup = ['backup', join(disk.dir, 'backup'), '--data-dir', join(cluster.dir, 'server')]
    t.match(await cluster.cli(backup), { code: 1, stderr: /backup_failed.*full/ })
    t.same(await users(cluster), ['before'])
    t.match(await get(`http://127.0.0.1:${port}/`), /hello/)
    await paris.agent.until('stats.report_failed')
    t.equal(cluster.server.count('store.unavailable'), 1, 'logged once a minute')

    disk.free()
    await addUser(cluster, 'after')
    const { connections_total: connections } = await statsOf(cluster, rule, stats => stats.bytes_out > 0)
    t.equal(connections, 1)
    t.equal(paris.agent.count('control.connected'), 1, 'the agent stayed connected')
    cluster.server.signal('SIGKILL')
    await cluster.server.exit
    await cluster.restart()
    t.same(await users(cluster), ['after', 'before'], 'acknowledged changes are stored, refused ones are not')
  }
)

t.test('server and agent stop with 0 while their disk is full', { skip, timeout }, async t => {
  const disk = smallDisk(t, 24)
  const teardown = (release: () => unknown) => t.teardown(release)
  const cluster = await testCluster({ teardown, testdir: () => disk.dir } as typeof t)
  const paris = await startAgent(t, cluster, 'paris', { args: ['--state-dir', join(disk.dir, 'paris')] })
  const page = await startWebServer(t)
  const port = await freePort()
  await push(cluster, 'paris', port, page)

  disk.fill()
  await get(`http://127.0.0.1:${port}/`)
  await t.rejects(addUser(cluster, 'a'), /503 .*store_unavailable.*full/)
  for (const { signal, exit } of [paris.agent, cluster.server]) {
    signal('SIGTERM')
    t.equal(await exit, 0)
  }
})

t.test('changes are refused while the data directory is missing', { timeout }, async t => {
  const cluster = await testCluster(t)
  await addUser(cluster, 'before')
  const dir = join(cluster.dir, 'server')
  const away = join(cluster.dir, 'away')

  renameSync(dir, away)
  await t.rejects(addUser(cluster, 'lost'), /503 .*store_unavailable.*gone/)
  t.same(await users(cluster), ['before'])
  renameSync(away, dir)

  await addUser(cluster, 'after')
  t.same(await users(cluster), ['after', 'before'])
})

t.test(
  'an agent with a full disk forwards, refuses new rules, and reports every byte once there is space',
  { skip, timeout },
  async t => {
    const disk = smallDisk(t, 8)
    const cluster = await testCluster(t)
    const paris = await startAgent(t, cluster, 'paris', { args: ['--state-dir', join(disk.dir, 'paris')] })
    const page = await startWebServer(t)
    const port = await freePort()
    const later = await freePort()
    const { rule_id: rule } = await push(cluster, 'paris', port, page)
    await get(`http://127.0.0.1:${port}/`)
    const { bytes_out: once } = await statsOf(cluster, rule, stats => stats.bytes_out > 0)

    disk.fill()
    await get(`http://127.0.0.1:${port}/`)
    await paris.agent.until('journal.write_failed')
    await t.rejects(push(cluster, 'paris', later, page), /422 .*activation_failed/)
    t.match(await get(`http://127.0.0.1:${port}/`), /hello/)

    disk.free()
    const { bytes_out: bytes } = await statsOf(cluster, rule, stats => stats.connections_total >= 3)
    t.equal(bytes, 3 * once)
    const stored = await cluster.call<{ rule_id: string }[]>('GET', '/v1/rules')
    const failed = stored.find(({ rule_id: id }) => id !== rule)
    await cluster.call('DELETE', `/v1/rules/${failed?.rule_id}`)
    await push(cluster, 'paris', later, page)
    t.match(await get(`http://127.0.0.1:${later}/`), /hello/)
    t.equal(cluster.server.count('client.connected'), 1, 'it stayed connected')
  }
)
