// The switch with a real server and a real agent. TEST_ENGINE=portable selects the other engine.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'

const engine = process.env['TEST_ENGINE'] ?? 'native'
const attacker = '127.0.0.61'
const honest = '127.0.0.62'
const banned = '127.0.0.63'

async function openEcho(t: Test): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as { port: number }).port // of a TCP server
}

/** Connects from an address and sends a greeting. Returns null if the call is refused. */
async function call(t: Test, port: number, from: string): Promise<Socket | null> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  socket.on('error', () => {})
  t.teardown(() => void socket.destroy())
  socket.write('hello')
  const { promise, resolve } = Promise.withResolvers<Socket | null>()
  socket.once('data', () => resolve(socket))
  socket.once('close', () => resolve(null))
  return promise
}

async function echoes(socket: Socket | null): Promise<boolean> {
  if (!socket) return false
  socket.write('again')
  const [data] = await once(socket, 'data')
  return String(data) === 'again'
}

async function openEdge(t: Test) {
  const cluster = await testCluster(t)
  const env = { SVC_ENGINE: engine }
  const paris = await startAgent(t, cluster, 'paris', { env })
  const target = { host: '127.0.0.1', port: await openEcho(t) }
  const push = async (more: object = {}) => {
    const port = await freePort()
    const body = { client: 'paris', listen_port: port, targets: [target], ...more }
    const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
    return { port, id }
  }
  const rejected = async (id: string): Promise<Readonly<Record<string, number>>> => {
    const path = `/v1/rules/${id}/stats`
    for (;;) {
      const { rejected } = await cluster.call<{ rejected: Record<string, number> }>('GET', path)
      if (Object.keys(rejected).length > 0) return rejected // the agent has reported
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  const explain = (port: number, source: string) =>
    cluster.call<{ outcome: string; decided_by: { reason: string } }>('POST', '/v1/explain', {
      client: 'paris',
      port,
      protocol: 'tcp',
      source
    })
  return { cluster, paris, env, push, rejected, explain }
}

t.test(`the switch tightens per-source limits until it is off (${engine})`, async t => {
  const { cluster, paris, env, push, rejected, explain } = await openEdge(t)
  const open = await push()
  const limited = await push({ ban: { new_connections: 8 } })
  const openBefore = await Promise.all([1, 2, 3, 4].map(() => call(t, open.port, attacker)))

  const numbers = ['--connections', '3', '--new-connections', '1000']
  const { code, stderr } = await cluster.cli(['under-attack', 'on', '--for', '1h', ...numbers])
  t.equal(code, 0, stderr)

  t.ok(
    (await Promise.all(openBefore.map(echoes))).every(Boolean),
    'open connections continue, even beyond the limit'
  )
  const began = await Promise.all([1, 2, 3, 4].map(() => call(t, open.port, attacker)))
  t.equal(began.filter(socket => socket === null).length, 1, 'the fourth is refused')
  t.match(await explain(open.port, attacker), { outcome: 'refused', decided_by: { reason: 'under_attack' } })
  t.ok(await call(t, open.port, honest), 'another source can connect')
  t.match(await explain(open.port, honest), { outcome: 'forwarded' })
  t.match(await rejected(open.id), { under_attack: 1 })

  const tried = [1, 2, 3].map(() => call(t, limited.port, banned))
  await paris.agent.until('ban.made', ({ source }) => source === banned)
  await Promise.all(tried)
  t.equal(await call(t, limited.port, banned), null, 'banned at a quarter of 8')

  await startAgent(t, cluster, 'lyon', { env })
  t.match((await cluster.cli(['under-attack', 'list'])).stdout, /lyon/, 'a client that enrolls gets it')

  t.equal((await cluster.cli(['under-attack', 'off'])).code, 0)
  t.ok(await call(t, open.port, attacker))
  t.equal((await cluster.cli(['under-attack', 'list'])).stdout.includes('paris'), false)
})

t.test(`without the server the switch survives an agent restart and ends on time (${engine})`, async t => {
  const { cluster, paris, push } = await openEdge(t)
  const { port } = await push()
  await cluster.call('PUT', `/v1/clients/${paris.clientId}/under-attack`, { for_secs: 20, connections: 1 })
  cluster.server.signal('SIGKILL')
  await cluster.server.exit
  paris.agent.signal('SIGKILL')
  await paris.agent.exit
  paris.restart()
  await paris.agent.until('rule.opened')

  t.ok(await call(t, port, attacker))
  t.equal(await call(t, port, attacker), null)
  await paris.agent.until('under_attack.off')
  const isOpen = async (): Promise<boolean> => (await call(t, port, attacker)) !== null
  while (!(await isOpen())); // the agent replans the rules after that log line
})
