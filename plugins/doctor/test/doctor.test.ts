// The findings of each check.
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { testServer } from '../../../kit/test-server.ts'
import { openCertificate } from '../../control/certificate.ts'
import control from '../../control/plugin.ts'
import { agents, certificate, endpoint } from '../agent-checks.ts'
import { clock, directory, ports } from '../checks.ts'
import { findingOf } from '../engine.ts'
import type { Finding } from '../exports.ts'

const environment = (dataDir: string, keys: Readonly<Record<string, unknown>> = {}, isRunning = false) => ({
  dataDir,
  keys,
  isRunning
})

async function executeSql(dir: string, ...statements: string[]): Promise<void> {
  const store = await openStore(join(dir, 'sluice.db'), [kernelStore, control])
  for (const sql of statements) await store.change(em => em.execute(sql, [], 'run'))
  await store.close()
}

const insertClient = (version: string, at: number): string =>
  `insert into kernel_client (id, name, agent_version, revision, enrolled_at, last_seen_at)
   values ('${version}', 'edge', '${version}', 0, 1, ${at})`

t.test('a missing data directory passes, one that other users can read fails', async t => {
  const dir = t.testdir({ 'sluice.db': '' })
  chmodSync(dir, 0o755)
  chmodSync(join(dir, 'sluice.db'), 0o600)

  t.match(await directory.run(environment(join(dir, 'none'))), { status: 'ok' })
  t.match(await directory.run(environment(dir)), { status: 'fail', remedy: /chmod go=/ })
  chmodSync(dir, 0o720)
  t.match(await directory.run(environment(dir)), { status: 'fail', message: /others may read or write/ })
  chmodSync(dir, 0o700)
  t.match(await directory.run(environment(dir)), { status: 'ok' })
})

t.test('a clock behind the latest time in the store fails', async t => {
  const dir = t.testdir()
  t.match(await clock.run(environment(dir)), { status: 'ok' })

  await executeSql(dir, insertClient('2.0.0', Date.now() + 3_600_000))

  t.match(await clock.run(environment(dir)), { status: 'fail', remedy: /NTP/ })
})

t.test('a port passes if it is free or used by our server, and fails if another process uses it', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as AddressInfo // of TCP
  const keys = { operator_http_listen: `127.0.0.1:${port}`, metrics_listen: '127.0.0.1:0', log_level: 'info' }

  const stopped = (await ports.run(environment('', keys))) as readonly Finding[]
  const running = (await ports.run(environment('', keys, true))) as readonly Finding[]

  t.match(stopped, [{ status: 'fail', remedy: /stop the process that has it/ }, { status: 'ok' }])
  t.match(running, [{ status: 'ok', message: /in use by the running server/ }, { status: 'ok' }])
  holder.close()
  await once(holder, 'close')
  t.match(await ports.run(environment('', keys, true)), [
    { status: 'fail', remedy: /--config/ },
    { status: 'ok' }
  ])
})

t.test('the certificate must be the one that agents pin', async t => {
  const dir = t.testdir()
  t.match(await certificate.run(environment(dir)), { status: 'ok', message: /first start/ })
  const { fingerprint } = await openCertificate(dir)
  await executeSql(dir, `insert into kernel_fact values ('leaf', '${fingerprint}')`)
  t.match(await certificate.run(environment(dir)), { status: 'ok', message: fingerprint })

  await executeSql(dir, "insert into kernel_fact values ('next_leaf', 'x')")
  t.match(await certificate.run(environment(dir)), { status: 'warn', remedy: /cert activate/ })
  await executeSql(dir, "update kernel_fact set value = 'other' where name = 'leaf'")
  t.match(await certificate.run(environment(dir)), { status: 'fail', message: /agents pin other/ })
})

t.test('the endpoint must be covered by our certificate and answer with it', async t => {
  const { server, dir } = await testServer(t, { plugins: [] })
  const checkEndpoint = (advertised_endpoint: string, isRunning = true) =>
    endpoint.run(environment(dir, { advertised_endpoint }, isRunning))

  t.match(await checkEndpoint(''), { status: 'warn' })
  t.match(await checkEndpoint('gate.example:7443'), {
    status: 'fail',
    message: /does not cover gate\.example/
  })
  t.match(await checkEndpoint(`localhost:${server.control.port()}`, false), {
    status: 'ok',
    message: /not tried/
  })
  t.match(await checkEndpoint(`127.0.0.1:${server.control.port()}`), { status: 'ok', message: /answers/ })
  await server.stop()
  t.match(await checkEndpoint(`127.0.0.1:${server.control.port()}`), {
    status: 'fail',
    message: /ECONNREFUSED/
  })
})

t.test('agents that are older than the server are named', async t => {
  const dir = t.testdir()
  await executeSql(dir, insertClient('2.0.0', 1))
  t.match(await agents.run(environment(dir)), { status: 'ok', message: /1 enrolled/ })

  await executeSql(dir, insertClient('1.9.0', 1))

  t.match(await agents.run(environment(dir)), { status: 'warn', message: /edge 1\.9\.0/ })
})

t.test('the engine of an agent is reported, and the reason if it is not the native one', async t => {
  const open = () => {
    throw new TypeError('nobody opens it')
  }
  t.match(findingOf({ engine: 'native', reason: '/lib/sluice.node', open }), {
    status: 'ok',
    message: /native.*sluice.node/
  })
  t.match(findingOf({ engine: 'portable', reason: 'no binary was built', open }), {
    status: 'warn',
    message: /portable engine: no binary was built/,
    remedy: /npm rebuild/
  })
})
