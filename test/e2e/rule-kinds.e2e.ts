// Every kind of rule carries real traffic in real processes, fails without its plugin, and works again with it.
import { createSocket, type Socket as Udp } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { clientHello } from '../engine/client-hellos.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, testCluster, token } from '../support/test-cluster.ts'

interface Rule {
  readonly rule_id: string
  readonly state: string
  readonly state_reason: string | null
  readonly targets: readonly { readonly health: { readonly state: string } }[]
}

/** Starts a TCP server that sends its name after the first bytes. Returns its port. */
async function openGreeter(t: Test, name: string, port = 0): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(name))
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port // a TCP address
}

/** Returns the server's answer. */
async function ask(port: number, payload: Buffer | string = 'hello'): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(payload)
  const chunks: Buffer[] = await socket.toArray()
  return Buffer.concat(chunks).toString()
}

async function openUdpEcho(t: Test): Promise<number> {
  const server = createSocket('udp4')
  server.on('message', (data, { port, address }) => server.send(`echo ${data}`, port, address))
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return server.address().port
}

function openUdpCaller(t: Test): Udp {
  const socket = createSocket('udp4')
  t.teardown(() => void socket.close())
  return socket
}

async function askUdp(socket: Udp, port: number): Promise<string> {
  const answer = once(socket, 'message')
  socket.send('hi', port, '127.0.0.1')
  return String((await answer)[0])
}

/** Counts connections of this port in TIME_WAIT (state 06 in /proc/net/tcp). */
const timeWaits = (port: number): number =>
  ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap(file => readFileSync(file, 'utf8').split('\n'))
    .map(line => line.trim().split(/\s+/))
    .filter(
      ([, local, , state]) => state === '06' && Number.parseInt(local?.split(':')[1] ?? '', 16) === port
    ).length

async function api<T>({ origin }: TestCluster, method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const reply = await fetch(`${origin}/v1/rules${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) })
  })
  if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`)
  return (reply.status === 204 ? null : await reply.json()) as T
}

const show = (cluster: TestCluster, id: string): Promise<Rule> => api<Rule>(cluster, 'GET', `/${id}`)

const localTarget = (port: number) => ({ host: '127.0.0.1', port })

async function createRule(
  cluster: TestCluster,
  listen_port: number,
  targetPort: number,
  more: object = {}
): Promise<string> {
  const body = { client: 'paris', listen_port, targets: [localTarget(targetPort)], ...more }
  return (await api<Rule>(cluster, 'POST', '', body)).rule_id
}

async function waitForRule(cluster: TestCluster, id: string, fits: (rule: Rule) => boolean): Promise<Rule> {
  for (const end = Date.now() + 20_000; ; ) {
    const rule = await show(cluster, id)
    if (fits(rule)) return rule
    if (Date.now() > end) throw new Error(`timed out: ${JSON.stringify(rule)}`)
    await setTimeout(50)
  }
}

async function openCluster(t: Test) {
  const cluster = await testCluster(t)
  const paris = await startAgent(t, cluster, 'paris')
  const push = async (...args: string[]): Promise<string> =>
    (await cluster.json<Rule>('rule', 'push', 'paris', ...args)).rule_id
  return { cluster, paris, push }
}

t.test(
  'TLS names share a port with a fallback, each port of a range reaches its target, and UDP replies return',
  async t => {
    const { cluster, push } = await openCluster(t)
    const tls = await freePort()
    const first = await freePort(3)
    const udp = await freePort()
    const base = await freePort(3)
    for (const at of [0, 1, 2]) await openGreeter(t, `port ${at}`, base + at)

    await push(`${tls}`, `127.0.0.1:${await openGreeter(t, 'rest')}`, '--sni-fallback')
    await createRule(cluster, tls, await openGreeter(t, 'any'), { sni_pattern: '*.Example.org' })
    await push(`${tls}`, `127.0.0.1:${await openGreeter(t, 'web')}`, '--sni', 'web.example.org')
    await createRule(cluster, first, base, { listen_port_end: first + 2 })
    await push(`${udp}`, `127.0.0.1:${await openUdpEcho(t)}`, '--protocol', 'udp')

    const byName = async (servername: string) => ask(tls, await clientHello({ servername }))
    t.equal(await byName('web.example.org'), 'web')
    t.equal(await byName('x.example.org'), 'any')
    t.equal(await byName('other.example'), 'rest')
    t.equal(await ask(tls, 'GET / HTTP/1.0\r\n\r\n'), 'rest')
    t.same(await Promise.all([0, 1, 2].map(at => ask(first + at))), ['port 0', 'port 1', 'port 2'])
    t.equal(await askUdp(openUdpCaller(t), udp), 'echo hi')
    t.equal((await api<object[]>(cluster, 'GET', '')).length, 5)
  }
)

t.test('a dead target fails over; its health is shown and both changes are logged', async t => {
  const { cluster, paris, push } = await openCluster(t)
  const port = await freePort()
  const dead = await freePort()
  const rule = await push(
    `${port}`,
    `127.0.0.1:${dead}@1`,
    `127.0.0.1:${await openGreeter(t, 'second')}@2`,
    '--health-interval',
    '1'
  )

  t.equal(await ask(port), 'second')
  const failed = await paris.agent.until('rule.target.health_changed', ({ to }) => to === 'failed')
  t.match(failed, { rule, target: `127.0.0.1:${dead}`, reason: 'refused' })
  await waitForRule(
    cluster,
    rule,
    ({ targets }) => targets.map(({ health }) => health.state).join() === 'failed,healthy'
  )

  await openGreeter(t, 'first', dead)
  await paris.agent.until(
    'rule.target.health_changed',
    ({ to, from }) => from === 'failed' && to === 'healthy'
  )
  await waitForRule(cluster, rule, ({ targets }) => targets.every(({ health }) => health.state === 'healthy'))
  t.equal(await ask(port), 'first')
})

t.test('the port of a removed rule is free at once, even with 200 connections in TIME_WAIT', async t => {
  const { cluster } = await openCluster(t)
  const port = await freePort()
  // The target closes first. So the agent closes the caller's connection first, which leaves TIME_WAIT on its side.
  const target = await openGreeter(t, 'bye')
  for (let round = 0; round < 3; round++) {
    const rule = await createRule(cluster, port, target)
    t.same(new Set(await Promise.all(Array.from({ length: 200 }, () => ask(port)))), new Set(['bye']))
    t.ok(timeWaits(port) >= 200, `${timeWaits(port)} in TIME_WAIT`)
    await api(cluster, 'DELETE', `/${rule}`)
  }
  t.match(await show(cluster, await createRule(cluster, port, target)), { state: 'active' })
})

t.test(
  'rules of a disabled plugin fail and close until the plugin returns, and other rules continue',
  { timeout: 240_000 },
  async t => {
    const { cluster, paris } = await openCluster(t)
    const names = ['udp', 'port-range', 'multi-target', 'sni', 'rate-limit']
    const ports = await Promise.all([1, 2, 1, 1, 1, 1].map(width => freePort(width)))
    const [udp = 0, range = 0, several = 0, tls = 0, limited = 0, plain = 0] = ports
    const target = await openGreeter(t, 'hello')
    const lost = [
      { id: await createRule(cluster, udp, target, { protocol: 'udp' }), reason: 'rule_shape_not_loaded' },
      {
        id: await createRule(cluster, range, target, { listen_port_end: range + 1 }),
        reason: 'rule_shape_not_loaded'
      },
      {
        id: await createRule(cluster, several, target, { targets: [localTarget(target), localTarget(9)] }),
        reason: 'rule_shape_not_loaded'
      },
      {
        id: await createRule(cluster, tls, target, { sni_pattern: 'a.example.org' }),
        reason: 'field_not_loaded'
      },
      {
        id: await createRule(cluster, limited, target, { rate_limit: { concurrent_connections: 5 } }),
        reason: 'field_not_loaded'
      }
    ]
    const kept = await createRule(cluster, plain, target)
    const restartWith = async (text: string): Promise<void> => {
      cluster.configure(text)
      cluster.server.signal('SIGTERM')
      await cluster.server.exit
      await cluster.restart()
      await cluster.server.until('client.connected')
    }

    await restartWith(names.map(name => `[plugins.${name}]\nenabled = false\n`).join(''))

    for (const { id, reason } of lost)
      t.match(await show(cluster, id), { state: 'failed', state_reason: reason })
    for (const { id } of lost) await paris.agent.until('rule.closed', ({ rule }) => rule === id)
    for (const port of [range, range + 1, several, tls, limited])
      await t.rejects(ask(port), { code: 'ECONNREFUSED' })
    t.equal(await ask(plain), 'hello')
    t.match(await show(cluster, kept), { state: 'active' })

    await restartWith('')

    for (const { id } of lost) await waitForRule(cluster, id, ({ state }) => state === 'active')
    t.equal(await ask(several), 'hello')
    t.equal(
      paris.agent.events.filter(({ event, rule }) => event === 'rule.opened' && rule === kept).length,
      1
    )
  }
)

t.test('an agent closes the rules of a disabled plugin, and reopens them with the plugin', async t => {
  const cluster = await testCluster(t)
  const config = join(cluster.dir, 'agent.toml')
  writeFileSync(config, '')
  const paris = await startAgent(t, cluster, 'paris', { args: ['--config', config] })
  const udp = await freePort()
  const port = await freePort()
  const target = await openUdpEcho(t)
  const lost = await createRule(cluster, udp, target, { protocol: 'udp' })
  const kept = await createRule(cluster, port, await openGreeter(t, 'hello'))
  const restartWith = async (text: string): Promise<void> => {
    writeFileSync(config, text)
    paris.agent.signal('SIGTERM')
    await paris.agent.exit
    paris.restart()
  }

  await restartWith('[plugins.udp]\nenabled = false\n')

  await cluster.server.until(
    'rule.unsupported',
    ({ rule, code }) => rule === lost && code === 'unsupported_protocol'
  )
  await waitForRule(
    cluster,
    lost,
    ({ state, state_reason }) => state === 'failed' && state_reason === 'unsupported_protocol'
  )
  await waitForRule(cluster, kept, ({ state }) => state === 'active')
  t.equal(await ask(port), 'hello')
  const refused = await cluster.cli([
    'rule',
    'push',
    'paris',
    `${await freePort()}`,
    '127.0.0.1:9',
    '--protocol',
    'udp'
  ])
  t.match(refused, { code: 3, stderr: /unsupported_protocol/ })

  await restartWith('')

  await waitForRule(cluster, lost, ({ state }) => state === 'active')
  t.equal(await askUdp(openUdpCaller(t), udp), 'echo hi')
})
