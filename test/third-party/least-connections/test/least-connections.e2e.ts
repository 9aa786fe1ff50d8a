// Loads the plugin by path. Real server and agent, long connections.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { conform } from '../../../../kit/public.ts'
import { freePort } from '../../../support/ports.ts'
import { startAgent, testCluster } from '../../../support/test-cluster.ts'

const folder = join(import.meta.dirname, '..')

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(folder)).problems, [])
})

/** Starts a target that sends callers its name and keeps their connections open. */
async function startTarget(t: Test, name: string): Promise<number> {
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket.on('error', () => {}))
    socket.write(name)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as { readonly port: number }).port
}

for (const engine of ['native', 'portable'])
  t.test(`connections go to the target with the fewest connections by weight (${engine})`, async t => {
    const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
    const args = ['--config', cluster.configFile]
    await startAgent(t, cluster, 'edge', { args, env: { SVC_ENGINE: engine } })
    const [first, second, reserve] = [
      await startTarget(t, 'a'),
      await startTarget(t, 'b'),
      await startTarget(t, 'c')
    ]
    const port = await freePort()
    const targets = [
      { host: '127.0.0.1', port: reserve, priority: 5 },
      { host: '127.0.0.1', port: first, priority: 0 },
      { host: '127.0.0.1', port: second, priority: 0 }
    ]
    const push = (least_connections: number[]) =>
      cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
        client: 'edge',
        listen_port: port,
        targets,
        least_connections
      })
    const callers = new Map<Socket, string>()
    const call = async (): Promise<void> => {
      const socket = connect(port, '127.0.0.1')
      t.teardown(() => void socket.destroy())
      const [name] = await once(socket, 'data')
      callers.set(socket, String(name))
    }
    const counted = () =>
      Object.fromEntries(
        Map.groupBy(callers.values(), name => name)
          .entries()
          .map(([name, all]) => [name, all.length])
      )

    await t.rejects(push([1]), { message: /1 weights for 3 targets/ })
    await t.rejects(push([0, 0, 0]), { message: /0 for every target/ })
    const { rule_id: id } = await push([1, 2, 1])
    for (let calls = 0; calls < 12; calls++) await call()
    t.same(counted(), { a: 8, b: 4 })

    for (const [socket, name] of callers)
      if (name === 'a') {
        socket.destroy()
        callers.delete(socket)
      }
    await cluster.call('PUT', `/v1/rules/${id}`, { least_connections: [1, 0, 1] })
    for (let calls = 0; calls < 3; calls++) await call()
    t.same(counted(), { b: 7 }, 'a gets no new connections, and no connection was cut')
    for (const socket of callers.keys()) t.notOk(socket.closed)
    t.match(await cluster.call('GET', `/v1/rules/${id}`), { least_connections: [1, 0, 1] })
  })
