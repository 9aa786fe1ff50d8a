// What the doctor finds, check by check.
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
import { clock, directory, ports } from '../checks.ts'
import { findingOf } from '../engine.ts'
import type { Finding } from '../exports.ts'
import { agents, certificate, endpoint } from '../reach.ts'

const place = (dataDir: string, keys: Readonly<Record<string, unknown>> = {}, isRunning = false) => ({
  dataDir,
  keys,
  isRunning
})

async function write(dir: string, ...statements: string[]): Promise<void> {
  const store = await openStore(join(dir, 'sluice.db'), [kernelStore, control])
  for (const sql of statements) await store.change(em => em.execute(sql, [], 'run'))
  await store.close()
}

const seen = (version: string, at: number): string =>
  `insert into kernel_client (id, name, agent_version, revision, enrolled_at, last_seen_at)
   values ('${version}', 'edge', '${version}', 0, 1, ${at})`

t.test('a directory that is not there yet is fine; one that others read is not', async t => {
  const dir = t.testdir({ 'sluice.db': '' })
  chmodSync(dir, 0o755)
  chmodSync(join(dir, 'sluice.db'), 0o600)

  t.match(await directory.run(place(join(dir, 'none'))), { status: 'ok' })
  t.match(await directory.run(place(dir)), { status: 'fail', remedy: /chmod go=/ })
  chmodSync(dir, 0o700)
  t.match(await directory.run(place(dir)), { status: 'ok' })
})

t.test('a clock behind what the store has seen is wrong', async t => {
  const dir = t.testdir()
  t.match(await clock.run(place(dir)), { status: 'ok' })

  await write(dir, seen('2.0.0', Date.now() + 3_600_000))

  t.match(await clock.run(place(dir)), { status: 'fail', remedy: /NTP/ })
})

t.test('a port is free, held by our server, or held by another', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as AddressInfo // of TCP
  const keys = { operator_http_listen: `127.0.0.1:${port}`, metrics_listen: '127.0.0.1:0', log_level: 'info' }

  const stopped = (await ports.run(place('', keys))) as readonly Finding[]
  const running = (await ports.run(place('', keys, true))) as readonly Finding[]

  t.match(stopped, [{ status: 'fail', remedy: /stop the process that has it/ }, { status: 'ok' }])
  t.match(running, [{ status: 'ok', message: /in use by the running server/ }, { status: 'ok' }])
  holder.close()
  await once(holder, 'close')
  t.match(await ports.run(place('', keys, true)), [{ status: 'fail', remedy: /--config/ }, { status: 'ok' }])
})

t.test('the certificate is the one that agents pin', async t => {
  const dir = t.testdir()
  t.match(await certificate.run(place(dir)), { status: 'ok', message: /first start/ })
  const { fingerprint } = await openCertificate(dir)
  await write(dir, `insert into kernel_fact values ('leaf', '${fingerprint}')`)
  t.match(await certificate.run(place(dir)), { status: 'ok', message: fingerprint })

  await write(dir, "insert into kernel_fact values ('next_leaf', 'x')")
  t.match(await certificate.run(place(dir)), { status: 'warn', remedy: /cert activate/ })
  await write(dir, "update kernel_fact set value = 'other' where name = 'leaf'")
  t.match(await certificate.run(place(dir)), { status: 'fail', message: /agents pin other/ })
})

t.test('the endpoint is covered, and answered with our certificate', async t => {
  const { server, dir } = await testServer(t, { plugins: [] })
  const at = (advertised_endpoint: string, isRunning = true) =>
    endpoint.run(place(dir, { advertised_endpoint }, isRunning))

  t.match(await at(''), { status: 'warn' })
  t.match(await at('gate.example:7443'), { status: 'fail', message: /does not cover gate\.example/ })
  t.match(await at(`localhost:${server.control.port()}`, false), { status: 'ok', message: /not tried/ })
  t.match(await at(`127.0.0.1:${server.control.port()}`), { status: 'ok', message: /answers/ })
  await server.stop()
  t.match(await at(`127.0.0.1:${server.control.port()}`), { status: 'fail', message: /ECONNREFUSED/ })
})

t.test('agents that are older than the server are named', async t => {
  const dir = t.testdir()
  await write(dir, seen('2.0.0', 1))
  t.match(await agents.run(place(dir)), { status: 'ok', message: /1 enrolled/ })

  await write(dir, seen('1.9.0', 1))

  t.match(await agents.run(place(dir)), { status: 'warn', message: /edge 1\.9\.0/ })
})

t.test('the engine that an agent would run is told, and why it is not the native one', async t => {
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
