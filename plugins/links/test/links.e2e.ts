// Links between real agents: paths of each length, in both directions, on both engines, with and without the server.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  testCluster
} from '../../../test/support/test-cluster.ts'
import type { LinkRecord } from '../schema.ts'

interface CarriedRow {
  readonly connection_id: string
  readonly via: readonly string[] | null
  readonly link_rtt_ms: number | null
  readonly target: string | null
  readonly rtt_ms: { readonly target: number | null } | null
  readonly retransmits: { readonly target: number | null } | null
}

const host = '127.0.0.1'

/** Answers each caller with what it sent, in upper case, when the caller has sent its FIN. */
async function openTarget(t: Test): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, async socket => {
    socket.on('error', () => {}) // a caller may reset
    socket.end((await text(socket).catch(() => '')).toUpperCase())
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function openPage(t: Test): Promise<number> {
  const server = createHttpServer((_, reply) => reply.end('from the office')).listen(0, host)
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Sends bytes and a FIN; returns the answer. Rejects if the connection is refused or reset. */
async function ask(port: number, question: string): Promise<string> {
  const socket = connect({ port, host, allowHalfOpen: true })
  socket.end(question)
  return text(socket)
}

const engines = ['native', 'portable'] as const
type Direction = 'reverse' | 'direct'

interface Hosts {
  readonly cluster: TestCluster
  readonly agents: ReadonlyMap<string, RunningAgent>
}

/** Starts a server and agents with these names. Each name begins with its engine. */
async function startHosts(t: Test, names: readonly string[]): Promise<Hosts> {
  const cluster = await testCluster(t)
  const agents = new Map<string, RunningAgent>()
  for (const name of names) {
    const [engine = ''] = name.split('-', 1)
    agents.set(name, await startAgent(t, cluster, name, { env: { SVC_ENGINE: engine } }))
  }
  return { cluster, agents }
}

async function setEndpoint({ cluster }: Pick<Hosts, 'cluster'>, name: string): Promise<void> {
  const port = String(await freePort())
  await cluster.json('client', 'set-link', name, '--port', port, '--host', host)
}

interface PushedRule {
  readonly rule_id: string
  readonly port: number
}

async function push({ cluster }: Pick<Hosts, 'cluster'>, entry: string, more: object): Promise<PushedRule> {
  const port = await freePort()
  const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    client: entry,
    listen_port: port,
    ...more
  })
  return { rule_id, port }
}

for (const entry of engines)
  for (const exit of engines)
    t.test(`${entry} to ${exit}: paths of 1 to 3 clients in both directions`, async t => {
      const names = [`${entry}-entry`, `${exit}-one`, `${entry}-two`, `${exit}-three`]
      const hosts = await startHosts(t, names)
      const { cluster, agents } = hosts
      for (const name of names) await setEndpoint(hosts, name)
      const target = { host, port: await openTarget(t) }
      const [near = '', ...path] = names

      for (const direction of ['reverse', 'direct'] satisfies Direction[])
        for (const hops of [1, 2, 3]) {
          const via = path.slice(-hops)
          const { rule_id, port } = await push(hosts, near, { targets: [target], via })
          for (const [at, far] of via.entries())
            await cluster.json('link', 'set', `${via[at - 1] ?? near}/${far}`, '--direction', direction)
          const question = 'is anybody there? '.repeat(20_000)
          t.equal(await ask(port, question), question.toUpperCase(), `${direction}, ${hops} hops`)
          const rows = await cluster.call<LinkRecord[]>('GET', '/v1/links')
          const used = rows.filter(({ rules }) => rules > 0)
          t.equal(used.length, hops)
          t.same(new Set(used.map(({ direction }) => direction)), new Set([direction]))
          await cluster.call('DELETE', `/v1/rules/${rule_id}`)
        }
      for (const { agent } of agents.values()) t.notOk(agent.output().includes('link.protocol'))
    })

t.test('a rule works without the server, also after a cold start of both agents', async t => {
  const hosts = await startHosts(t, ['native-hub', 'portable-home'])
  const { cluster, agents } = hosts
  await setEndpoint(hosts, 'native-hub')
  const { port } = await push(hosts, 'native-hub', {
    targets: [{ host, port: await openTarget(t) }],
    via: 'portable-home'
  })
  t.equal(await ask(port, 'before'), 'BEFORE')

  cluster.server.signal('SIGKILL')
  await cluster.server.exit
  t.equal(await ask(port, 'away'), 'AWAY')
  for (const running of agents.values()) {
    running.agent.signal('SIGKILL')
    await running.agent.exit
  }
  for (const running of agents.values()) running.restart()
  for (const { agent } of agents.values()) await agent.until('link.up')
  t.equal(await ask(port, 'cold'), 'COLD')
})

t.test(
  'the exit is killed: another exit serves new callers, and the first one serves again after its start',
  async t => {
    const hosts = await startHosts(t, ['native-hub', 'native-one', 'native-two'])
    const { agents } = hosts
    await setEndpoint(hosts, 'native-hub')
    const [one, two] = [await openTarget(t), await openTarget(t)]
    const { port } = await push(hosts, 'native-hub', {
      targets: [
        { host, port: one, priority: 1, via: 'native-one' },
        { host, port: two, priority: 2, via: 'native-two' }
      ]
    })
    t.equal(await ask(port, 'both'), 'BOTH')
    const first = agents.get('native-one')
    first?.agent.signal('SIGKILL')
    await first?.agent.exit
    for (let n = 0; n < 20; n++) t.equal(await ask(port, `killed ${n}`), `KILLED ${n}`)

    first?.restart()
    await agents.get('native-hub')?.agent.until('link.up', ({ peer }) => peer === first?.clientId)
    t.equal(await ask(port, 'again'), 'AGAIN')
  }
)

t.test('a reset of either side reaches the other, and a revoked exit is cut', async t => {
  const hosts = await startHosts(t, ['native-hub', 'portable-home'])
  const { cluster, agents } = hosts
  await setEndpoint(hosts, 'native-hub')
  const accepted: Socket[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    accepted.push(socket)
    server.emit('accepted')
  }).listen(0, host)
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = await push(hosts, 'native-hub', {
    targets: [{ host, port: (server.address() as AddressInfo).port }],
    via: 'portable-home'
  })
  const open = async (): Promise<{ caller: Socket; callee: Socket }> => {
    const arrived = once(server, 'accepted')
    const caller = connect(port, host)
    await arrived
    const callee = accepted.at(-1)
    if (!callee) throw new Error('nobody was accepted')
    caller.write('hello')
    await once(callee, 'data')
    return { caller, callee }
  }

  const byCaller = await open()
  const seenByCallee = new Promise(resolve => byCaller.callee.once('close', resolve))
  byCaller.caller.resetAndDestroy()
  await seenByCallee
  t.match(byCaller.callee.errored, { code: 'ECONNRESET' })

  const byCallee = await open()
  const failed = once(byCallee.caller, 'error')
  byCallee.callee.resetAndDestroy()
  t.match(await failed, [{ code: 'ECONNRESET' }])

  const live = await open()
  const cut = once(live.caller, 'error')
  await cluster.call('POST', `/v1/clients/${agents.get('portable-home')?.clientId}/revoke`)
  t.match(await cut, [{ code: 'ECONNRESET' }])
})

/** Returns the connections through a client, once its links have answered their first pings. */
async function measuredRows(cluster: TestCluster, via: string): Promise<readonly CarriedRow[]> {
  for (;;) {
    const rows = await cluster.json<CarriedRow[]>('connection', 'list', '--via', via)
    if (rows.every(({ link_rtt_ms: rtt }) => rtt !== null)) return rows
  }
}

for (const engine of engines)
  t.test(`${engine}: a live connection shows its path, and ends with all its legs`, async t => {
    const [entry, relay, exit] = [`${engine}-entry`, `${engine}-relay`, `${engine}-exit`]
    const hosts = await startHosts(t, [entry, relay, exit])
    const { cluster, agents } = hosts
    for (const name of [entry, relay]) await setEndpoint(hosts, name)
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.on('data', bytes => void socket.write(bytes))
      socket.once('close', () => server.emit('closed'))
    }).listen(0, host)
    await once(server, 'listening')
    t.teardown(() => void server.close())
    const target = { host: 'localhost', port: (server.address() as AddressInfo).port }
    const direct = await push(hosts, entry, { targets: [{ ...target, host }] })
    const { port } = await push(hosts, entry, { targets: [target], via: [relay, exit] })
    const open = async (to: number): Promise<Socket> => {
      const caller = connect(to, host)
      caller.write('hello')
      await once(caller, 'data')
      return caller
    }
    const other = await open(direct.port)
    const caller = await open(port)
    const path = [relay, exit].map(name => agents.get(name)?.clientId)

    const all = await cluster.json<CarriedRow[]>('connection', 'list')
    t.equal(all.length, 2)
    const [row, ...more] = await measuredRows(cluster, relay)
    t.match(row, { via: path, target: `${host}:${target.port}`, link_rtt_ms: Number })
    t.same(more, [])
    t.match([row?.rtt_ms?.target ?? null, row?.retransmits?.target ?? null], [null, null])
    t.match(
      all.find(({ connection_id: id }) => id !== row?.connection_id),
      { via: null, link_rtt_ms: null }
    )

    const ends = [once(caller, 'error'), once(server, 'closed')]
    t.match(await cluster.json('connection', 'close', '--via', exit, '--yes'), { matched: 1, closed: 1 })
    const closed = performance.now()
    await Promise.all(ends)
    t.ok(performance.now() - closed < 1_000)
    other.write('still there')
    await once(other, 'data')
    other.destroy()
  })

// The title is a part of the path of the agent's socket, which is limited.
t.test('agents show links', async t => {
  const hosts = await startHosts(t, ['native-hub', 'native-home'])
  const { cluster, agents } = hosts
  await setEndpoint(hosts, 'native-hub')
  const { port } = await push(hosts, 'native-hub', {
    targets: [{ host, port: await openTarget(t) }],
    via: 'native-home'
  })
  t.equal(await ask(port, 'up'), 'UP')
  const { stateDir = '' } = agents.get('native-hub') ?? {}
  const onHub = (...command: string[]) => cluster.cli(['agent', ...command, '--state-dir', stateDir])
  const find = async () => {
    const { stdout } = await onHub('doctor', '--output', 'json')
    return (JSON.parse(stdout) as { check: string }[]).filter(({ check }) => check === 'links')
  }

  t.match((await onHub('status')).stdout, /links +native-home near up/)
  t.match(await find(), [{ status: 'ok', message: '1 link works' }])

  const home = agents.get('native-home')
  home?.agent.signal('SIGKILL')
  await home?.agent.exit
  await agents.get('native-hub')?.agent.until('link.down')
  t.match((await onHub('status')).stdout, /links +native-home near down/)
  t.match(await find(), [{ id: 'link.unreachable', status: 'fail', message: /^native-home / }])
})

t.test('the reverse tunnel of the README works as shown', async t => {
  const cluster = await testCluster(t)
  for (const name of ['hub', 'office']) await startAgent(t, cluster, name)
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
  const [, section = ''] = /\n## Reach a service behind NAT\n([\s\S]*?)\n## /.exec(readme) ?? []
  const ports = { 7444: await freePort(), 8080: await freePort(), 3000: await openPage(t) }
  const lines = section
    .split('\n')
    .flatMap(line => (line.startsWith('    ') ? [line.trim()] : []))
    .map(line => line.replaceAll(/\b(7444|8080|3000)\b/g, port => String(ports[port as '7444'])))

  const request = lines.pop() ?? ''
  for (const line of lines) {
    const [program, ...args] = line.split(' ')
    t.equal(program, 'sluice')
    t.match(await cluster.cli(args), { code: 0 }, line)
  }
  t.match(request, /^curl http:\/\/hub\.example\.org:/)
  const reply = await fetch(request.replace('curl ', '').replace('hub.example.org', host))
  t.equal(await reply.text(), 'from the office')
  t.equal(lines.length, 3)
})
