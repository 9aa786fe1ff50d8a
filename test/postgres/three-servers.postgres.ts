// Runs docs/CLUSTER.md: PostgreSQL from an empty host, three servers, and an agent that forwards while they are killed one
// after another.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, connect as dial } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../support/await-server.ts'
import { freePort } from '../support/ports.ts'
import { type CommandResult, type Process, sluice, start } from '../support/process.ts'
import { type Debian, openDebian, shown } from './three-servers/host.ts'

const names = ['gate-1', 'gate-2', 'gate-3'] as const
type Name = (typeof names)[number]
type Env = Readonly<Record<string, string>>

interface Listed {
  readonly server_id: string
  readonly sessions: number
  readonly version: string
  readonly leader_of: readonly string[]
}

interface Server {
  process: Process
  readonly origin: string
  start(): Promise<void>
  kill(): Promise<void>
  cli(...args: readonly string[]): Promise<CommandResult>
  json<T>(...args: readonly string[]): Promise<T>
  get(path: string): Promise<Response>
}

/** Parses a systemd unit. */
const variablesIn = (file: string): Env =>
  Object.fromEntries(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map(line => {
        const at = line.indexOf('=')
        return [line.slice(0, at), line.slice(at + 1)]
      })
  )

/** A server like its unit runs it: with the folders of its host. Ports differ, since all share one machine. */
async function serverOf(t: Test, host: string, controlPort: number): Promise<Server> {
  const etc = join(host, 'etc/sluice')
  const api = await freePort()
  const metrics = await freePort()
  const origin = `http://127.0.0.1:${api}`
  const { SVC_OPERATOR_TOKEN: token = '', ...own } = variablesIn(join(etc, 'server.env'))
  const cli: Server['cli'] = (...args) => sluice(args, { SVC_SERVER: origin, SVC_TOKEN: token })
  const run = (): Process =>
    start(t, ['server', '--config', join(etc, 'server.toml'), '--data-dir', join(host, 'var/lib/sluice')], {
      ...own,
      SVC_OPERATOR_TOKEN: token,
      SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
      SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`,
      SVC_METRICS_LISTEN: `127.0.0.1:${metrics}`
    })
  const server: Server = {
    process: run(),
    origin,
    cli,
    get: path => fetch(origin + path, { headers: { authorization: `Bearer ${token}` } }),
    async start() {
      server.process = run()
      await server.process.until('server.started')
    },
    async kill() {
      server.process.signal('SIGKILL')
      await server.process.exit
    },
    async json<T>(...args: readonly string[]) {
      const { code, stdout, stderr } = await cli(...args, '--output', 'json')
      if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${code}\n${stderr}`)
      return JSON.parse(stdout) as T
    }
  }
  await server.process.until('server.started')
  return server
}

/** Runs the page until three servers are up. */
async function threeServers(t: Test) {
  const dir = t.testdir()
  const port = await freePort()
  const debian = openDebian(t, { dir, port })
  const ports = { 'gate-1': await freePort(), 'gate-2': await freePort(), 'gate-3': await freePort() }
  mkdirSync(join(dir, 'db/root'), { recursive: true })
  await debian.play(t, 'test/postgres/three-servers/database.sh', 'db', {
    '192.0.2.0/24': '127.0.0.1/32',
    'db.example.com': 'localhost'
  })
  const etc = join(dir, 'gate-1/etc/sluice')
  mkdirSync(etc, { recursive: true })
  const config = debian.at('gate-1', shown(t, 'config/cluster.toml'))
  const places = Object.entries({ 'db.example.com': `localhost:${port}`, ...endpointsAt(ports) })
  writeFileSync(
    join(etc, 'server.toml'),
    places.reduce((text, [name, place]) => text.replaceAll(name, place), config)
  )
  await debian.play(t, 'test/postgres/three-servers/first.sh', 'gate-1', {
    '$database:/root': `${dir}/db/root`,
    'cat /root': `cat ${dir}/db/root`
  })
  const servers = new Map<Name, Server>()
  servers.set('gate-1', await serverOf(t, join(dir, 'gate-1'), ports['gate-1']))
  for (const id of names.slice(1)) {
    await debian.play(t, 'test/postgres/three-servers/next.sh', id, {
      '$first:': join(dir, 'gate-1'),
      'id=gate-2': `id=${id}`
    })
    servers.set(id, await serverOf(t, join(dir, id), ports[id]))
  }
  return { dir, debian, ports, servers }
}

const endpointsAt = (ports: Readonly<Record<Name, number>>): Env =>
  Object.fromEntries(names.map(id => [`${id}.example.com:7443`, `localhost:${ports[id]}`]))

interface Traffic {
  /** Bytes in one direction, so far. */
  readonly bytes: () => number
  /** Resolves when all data that the caller sends from now on, for some time, has been answered. */
  goesOn(): Promise<void>
  end(): Promise<void>
}

/** An echo target; a connection starts with one byte that identifies the target. */
async function openTarget(t: Test, mark: string): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.write(mark)
    socket.pipe(socket)
  })
  t.teardown(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** A connection through a port that exchanges numbered parts until it ends. Anything unexpected fails the test. */
function sendThrough(t: Test, port: number): Traffic {
  const partBytes = 1024
  const paceMs = 5
  const part = (n: number): Buffer => Buffer.alloc(partBytes, `${n} `)
  const socket = dial(port, '127.0.0.1')
  t.teardown(() => void socket.destroy())
  const ended = once(socket, 'close')
  const waiting: { readonly from: number; readonly resolve: () => void }[] = []
  let sent = 0
  let isEnding = false
  let got = Buffer.alloc(0)
  const next = (): void => {
    if (isEnding) socket.end()
    else socket.write(part(++sent))
  }
  socket.once('data', first => {
    socket.unshift(first.subarray(1)) // the identifying byte
    next()
    socket.on('data', data => {
      got = Buffer.concat([got, data])
      if (got.length < partBytes) return
      if (!got.equals(part(sent))) t.fail(`part ${sent} came back as ${got}`)
      got = Buffer.alloc(0)
      while (waiting[0] && waiting[0].from < sent) waiting.shift()?.resolve()
      setTimeout(next, paceMs)
    })
  })
  socket.on('error', error => t.fail(`the connection broke: ${error.message}`))
  void ended.then(() => isEnding || t.fail('the connection has ended'))
  return {
    bytes: () => sent * partBytes,
    goesOn: () => new Promise(resolve => waiting.push({ from: sent, resolve })),
    async end() {
      isEnding = true
      await ended
    }
  }
}

/** Opens a connection through a port; resolves with the identifying byte of the target. */
async function markAt(port: number): Promise<string> {
  const socket = dial(port, '127.0.0.1')
  const [mark] = await once(socket, 'data', { signal: AbortSignal.timeout(10_000) })
  socket.destroy()
  return String(mark)
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('there is no value of this name')
  return value
}

const listedAt = ({ json }: Server): Promise<Listed[]> => json<Listed[]>('store', 'servers')
const agentIn = (listed: readonly Listed[]) => listed.find(({ sessions }) => sessions === 1)?.server_id

async function startAgent(t: Test, dir: string, server: Server) {
  const state = join(dir, 'paris')
  const { uri } = await server.json<{ uri: string }>('client', 'enroll', 'paris')
  const enrolled = await sluice(['agent', 'enroll', uri, '--state-dir', state])
  if (enrolled.code !== 0) throw new Error(enrolled.stderr)
  const agent = start(t, ['agent', 'run', '--state-dir', state])
  await agent.until('control.connected')
  const known = await until(
    async () => JSON.parse(readFileSync(join(state, 'bundle.json'), 'utf8')).server_endpoints as string[],
    endpoints => endpoints.length === names.length
  )
  return { agent, known }
}

t.test(
  'servers are killed and restarted one after another: no byte is lost, and a peer changes the rule',
  { timeout: 280_000 },
  async t => {
    const { dir, debian, ports, servers } = await threeServers(t)
    const at = (id: Name): Server => found(servers.get(id))
    const { agent, known } = await startAgent(t, dir, at('gate-2'))
    t.same([...known].sort(), Object.values(endpointsAt(ports)).sort(), 'the agent knows all endpoints')
    const targets = [await openTarget(t, 'A'), await openTarget(t, 'B')]
    const listen = `${await freePort()}`
    const push = ['rule', 'push', 'paris', listen, `127.0.0.1:${targets[0]}`]
    const { rule_id: rule } = await at('gate-3').json<{ rule_id: string }>(...push)
    const traffic = sendThrough(t, Number(listen))
    await traffic.goesOn()
    const { stdout } = await at('gate-1').cli('store', 'servers')
    t.match(stdout, /^SERVER_ID +VERSION +.*SESSIONS +LEADER_OF\n(gate-[123] .*\n){3}$/, 'all three')

    for (const id of names) {
      const agentAt = await kill(t, { id, at, agent, traffic })
      const changer = at(found(names.find(name => name !== id && name !== agentAt)))
      const mark = id === 'gate-2' ? 'A' : 'B'
      const changed = await changer.json<{ state: string }>(
        ...['rule', 'set', rule, `targets=127.0.0.1:${targets['AB'.indexOf(mark)]}`]
      )
      t.match(changed, { state: 'active' }, 'the agent has applied the change')
      t.equal(await markAt(Number(listen)), mark, 'new connections go to the new target')
      await at(id).start()
      await traffic.goesOn()
    }
    await postgresAway(t, { debian, server: at('gate-1'), traffic })
    await dumped(t, dir, debian)

    await traffic.end()
    const { bytes_in: counted } = await until(
      () => at('gate-1').json<{ bytes_in: number; active_connections: number }>('rule', 'stats', rule),
      // A server that has just learned of the agent's session may show no connections before the last report arrives.
      ({ active_connections, bytes_in }) => active_connections === 0 && bytes_in >= traffic.bytes()
    )
    t.equal(counted, traffic.bytes(), 'each byte is counted once')
    t.equal(agent.count('rule.opened'), 1, 'the port was never closed')
  }
)

interface Victim {
  readonly id: Name
  readonly at: (id: Name) => Server
  readonly agent: Process
  readonly traffic: Traffic
}

/** Kills a server. Returns the server that the agent then uses. */
async function kill(t: Test, { id, at, agent, traffic }: Victim): Promise<string | undefined> {
  const before = agentIn(await listedAt(at(id)))
  const seen = agent.events.length
  await at(id).kill()
  const killedAt = performance.now()
  await traffic.goesOn()
  if (before === id) {
    await agent.until('control.connected', undefined, seen)
    t.comment(`the agent is elsewhere ${Math.round(performance.now() - killedAt)} ms after the end of ${id}`)
  }
  const listed = await until(
    () => listedAt(at(found(names.find(name => name !== id)))),
    list => ![undefined, id].includes(agentIn(list) as Name | undefined)
  )
  t.equal(listed.length, 3, `${id} is still listed`)
  return agentIn(listed)
}

interface Away {
  readonly debian: Debian
  readonly server: Server
  readonly traffic: Traffic
}

async function postgresAway(t: Test, { debian, server, traffic }: Away): Promise<void> {
  await debian.postgres('stop')
  const refused = await server.get('/v1/rules')
  t.equal(refused.status, 503, 'without PostgreSQL')
  t.ok(refused.headers.get('retry-after'), 'says when to retry')
  await traffic.goesOn()
  await debian.postgres('start')
  await until(
    () => server.get('/v1/rules'),
    ({ status }) => status === 200
  )
  t.equal(
    (
      await until(
        () => listedAt(server),
        list => list.length === 3
      )
    ).length,
    3
  )
}

async function dumped(t: Test, dir: string, debian: Debian): Promise<void> {
  await debian.play(t, 'test/postgres/three-servers/dump.sh', 'db', {})
  const file = join(dir, 'db/root/sluice.dump')
  t.equal(statSync(file).mode & 0o777, 0o600, 'readable by root alone')
  t.match(
    execFileSync('pg_restore', ['--list', file], { encoding: 'utf8' }),
    /TABLE DATA public certificate_sealed/
  )
}
