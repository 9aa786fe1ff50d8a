// With real processes: a user's connections reach only granted targets, and end with the grant.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, type TestCluster, testCluster, token } from '../../../test/support/test-cluster.ts'

async function echo(t: Test): Promise<number> {
  const port = await freePort()
  const server = createServer(socket => socket.on('error', () => {}).pipe(socket)).listen(port, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return port
}

async function request<T>(
  cluster: TestCluster,
  method: string,
  path: string,
  body?: object,
  bearer = token
): Promise<T> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const reply = await fetch(cluster.origin + path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) })
  })
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`)
  return (await reply.json()) as T
}

/** Opens a connection and waits for its first echo; returns null if it closes first. */
async function openEchoed(t: Test, port: number): Promise<Socket | null> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  socket.write('ping')
  const isEchoed = await new Promise<boolean>(resolve => {
    socket.once('data', () => resolve(true)).once('close', () => resolve(false))
  })
  return isEchoed ? socket : null
}

t.test(
  'a target list that takes effect cuts the connections it denies, and its end allows them again',
  async t => {
    const cluster = await testCluster(t)
    await startAgent(t, cluster, 'paris')
    const [target, port] = [await echo(t), await freePort()]
    await request(cluster, 'POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
    await request(cluster, 'POST', '/v1/users', { user_id: 'ada', display_name: 'Ada' })
    const { token: ada } = await request<{ token: string }>(cluster, 'POST', '/v1/users/ada/credentials', {})
    await cluster.json('grant', 'create', 'ada', '*', '1-65535', '--target', '192.0.2.0/24')
    const grantAll = () => cluster.json<{ grant_id: string }>('grant', 'create', 'ada', 'paris', String(port))
    const { grant_id: all } = await grantAll()
    const rule = { client: 'paris', listen_port: port, targets: [{ host: 'localhost', port: target }] }
    await request(cluster, 'POST', '/v1/rules', rule, ada)
    const live = await openEchoed(t, port)
    t.ok(live)

    const cut = new Promise(resolve => live?.once('close', resolve))
    t.same(await cluster.json('grant', 'delete', all), { grant_id: all, removed_rule_ids: [] })
    await cut
    t.equal(await openEchoed(t, port), null)

    await grantAll()
    let again: Socket | null = null
    while (!again) again = await openEchoed(t, port)
    t.ok(again, 'without a new rule')
    t.match(await cluster.json('grant', 'list', '--user', 'ada'), [
      { client_id: '*' },
      { client_name: 'paris' }
    ])
  }
)
