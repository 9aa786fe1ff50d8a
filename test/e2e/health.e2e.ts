// /livez and /readyz of real processes: a full disk, a missing directory, an agent without a server.
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { noSmallDisk, smallDisk } from '../support/small-disk.ts'
import { notOnPostgres } from '../support/store.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'

interface Ready {
  readonly status: string
  readonly checks: Readonly<Record<string, { readonly status: string; readonly reason: string }>>
}

/** Polls, as a supervisor does. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(50)
}

async function readyz(origin: string) {
  const reply = await fetch(`${origin}/readyz`)
  const { checks } = (await reply.json()) as Ready
  const failed = Object.entries(checks).flatMap(([name, { status, reason }]) =>
    status === 'ok' ? [] : [{ name, reason }]
  )
  return { status: reply.status, failed, checks }
}

const needsFile = notOnPostgres('its store is a file')

t.test('a server is not ready while its disk is full', { skip: noSmallDisk || needsFile }, async t => {
  const disk = smallDisk(t, 16)
  const teardown = (release: () => unknown) => t.teardown(release)
  const { origin } = await testCluster({ teardown, testdir: () => disk.dir } as typeof t)
  t.equal((await readyz(origin)).status, 200)

  disk.fill()
  await until(async () => (await readyz(origin)).status === 503)
  t.match((await readyz(origin)).failed, [{ name: 'store', reason: 'its disk is full' }])
  t.equal((await fetch(`${origin}/livez`)).status, 200)

  disk.free()
  await until(async () => (await readyz(origin)).status === 200)
})

t.test('a server is not ready while its directory is missing', { skip: needsFile }, async t => {
  const { origin, dir } = await testCluster(t)
  t.equal((await readyz(origin)).status, 200)

  renameSync(join(dir, 'server'), join(dir, 'away'))
  await until(async () => (await readyz(origin)).status === 503)
  t.match((await readyz(origin)).failed, [{ name: 'store', reason: 'its directory is gone' }])

  renameSync(join(dir, 'away'), join(dir, 'server'))
  await until(async () => (await readyz(origin)).status === 200)
})

t.test('an agent is ready while it forwards, with or without the server', async t => {
  const cluster = await testCluster(t)
  const metrics = await freePort()
  const origin = `http://127.0.0.1:${metrics}`
  const paris = await startAgent(t, cluster, 'paris', { env: { SVC_METRICS_LISTEN: `127.0.0.1:${metrics}` } })

  t.match(await readyz(origin), { status: 200, checks: { control_stream: { reason: 'connected' } } })
  cluster.server.signal('SIGKILL')
  await cluster.server.exit
  await until(async () => (await readyz(origin)).status === 503)
  t.match((await readyz(origin)).failed, [{ name: 'control_stream', reason: /no saved rules/ }])
  t.equal((await fetch(`${origin}/livez`)).status, 200)

  await cluster.restart()
  await until(async () => (await readyz(origin)).status === 200)
  await cluster.json('rule', 'push', 'paris', String(await freePort()), '127.0.0.1:9')
  cluster.server.signal('SIGKILL')
  await cluster.server.exit
  await until(async () => (await readyz(origin)).checks['control_stream']?.reason !== 'connected')
  t.match(await readyz(origin), {
    status: 200,
    checks: {
      control_stream: { reason: 'not connected; the saved rules are forwarded' },
      rules: { reason: /^1 are open/ }
    }
  })
  t.equal(paris.agent.child.exitCode, null)
})
