// 303 rules share a port by TLS name. From the first caller on, the port serves all of them. Real processes.
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { clientHello } from '../engine/client-hellos.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'

const servernames = { exact: 'first.example.org', wild: 'any.example.org', rest: 'elsewhere.test' }

/** Starts a target that answers with its label. Returns its port. */
async function startTarget(t: Test, label: string): Promise<number> {
  const port = await freePort()
  const greet = (socket: Socket): void => void socket.on('error', () => {}).write(`${label}:`)
  const server = createServer(greet).listen(port, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return port
}

async function shareAPort(t: Test, cluster: TestCluster): Promise<number> {
  const listen_port = await freePort()
  const push = async (target: number, body: object): Promise<unknown> =>
    cluster.call('POST', '/v1/rules', {
      client: 'paris',
      listen_port,
      targets: [{ host: '127.0.0.1', port: target }],
      ...body
    })
  const exact = await startTarget(t, 'exact')
  const names = ['first', ...Array.from({ length: 300 }, (_, i) => `name-${i}`)]
  for (const name of names) await push(exact, { sni_pattern: `${name}.example.org` })
  await push(await startTarget(t, 'wild'), { sni_pattern: '*.example.org' })
  await push(await startTarget(t, 'rest'), { sni_fallback: true })
  return listen_port
}

t.test(
  'no caller of a shared port is reset or routed wrongly while its rules open',
  { timeout: 300_000 },
  async t => {
    const cluster = await testCluster(t)
    const paris = await startAgent(t, cluster, 'paris')
    const port = await shareAPort(t, cluster)
    const hellos = await Promise.all(
      Object.entries(servernames).map(async ([label, servername]) => [
        label,
        await clientHello({ servername })
      ])
    )

    async function firstAnswers(t: Test, begin: () => void): Promise<unknown> {
      paris.agent.signal('SIGKILL')
      await paris.agent.exit
      const workerData = [port, Object.fromEntries(hellos)]
      const callers = new Worker(new URL('../engine/first-callers.ts', import.meta.url), { workerData })
      t.teardown(() => callers.terminate())
      await once(callers, 'message') // the callers dial the closed port
      begin()
      return new Promise(resolve =>
        callers.on('message', message => message === 'closed' || resolve(message))
      )
    }
    const right = { exact: ['exact'], wild: ['wild'], rest: ['rest'] }

    await t.test('an agent that starts from its saved state', async t => {
      t.same(await firstAnswers(t, () => paris.restart()), right)
    })

    await t.test('an agent that has lost its state and gets the rules from the server', async t => {
      const begin = (): void => {
        for (const file of ['state.db', 'state.db-wal', 'state.db-shm'])
          rmSync(join(paris.stateDir, file), { force: true })
        paris.restart()
      }
      t.same(await firstAnswers(t, begin), right)
    })
  }
)
