// Ordinary programs work through rules: curl, a DNS resolver, PostgreSQL and its clients.
import { execFile } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { openDns } from '../support/dns.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, testCluster, token } from '../support/test-cluster.ts'

const run = promisify(execFile)
const host = '127.0.0.1'

const cluster = await testCluster(t)
const { agent } = await startAgent(t, cluster, 'paris')

/** Creates a rule to a local target. Returns its listen port. */
async function forward(target: number, more: object = {}, listen_port?: number): Promise<number> {
  const port = listen_port ?? (await freePort())
  const reply = await fetch(`${cluster.origin}/v1/rules`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ client: 'paris', listen_port: port, targets: [{ host, port: target }], ...more })
  })
  if (!reply.ok) throw new Error(await reply.text())
  return port
}

t.test('curl fetches two sites over HTTPS by their names on one port, each with its certificate', async t => {
  const port = await freePort()
  const names = ['one.example.org', 'two.example.org']
  const sites = await Promise.all(names.map(name => openHttpsSite(t, cluster.dir, name)))
  for (const { name, port: target } of sites) await forward(target, { sni_pattern: name }, port)
  const curl = (name: string, certificate: string, path = '/') =>
    run('curl', [
      ...['--silent', '--show-error', '--fail', '--noproxy', '*', '--cacert', certificate],
      ...['--resolve', `${name}:${port}:${host}`, `https://${name}:${port}${path}`]
    ])

  for (const { name, certificate } of sites)
    t.equal((await curl(name, certificate)).stdout, `this is ${name}`)
  const [one, two] = sites
  const large = await Promise.all(sites.map(({ name, certificate }) => curl(name, certificate, '/large')))
  t.same(
    large.map(({ stdout }) => stdout.length),
    [largeBytes, largeBytes]
  )
  await t.rejects(curl(one?.name ?? '', two?.certificate ?? ''), { code: 60 }, 'each has its own certificate')
  await t.rejects(curl('three.example.org', one?.certificate ?? ''), 'a name without a rule is not served')
})

const largeBytes = 900_000

/** Starts an HTTPS server with a self-signed certificate. It returns `name`, or many bytes under /large. */
async function openHttpsSite(t: Test, dir: string, name: string) {
  const key = join(dir, `${name}.key`)
  const certificate = join(dir, `${name}.pem`)
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const who = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  await run('openssl', ['req', ...kind, ...who, '-keyout', key, '-out', certificate])
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, ({ url }, reply) =>
    reply.end(url === '/large' ? 'x'.repeat(largeBytes) : `this is ${name}`)
  ).listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { name, certificate, port: (server.address() as AddressInfo).port } // a TCP address
}

t.test('a resolver queries a DNS server over UDP', async t => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`n${i}.test`, [`192.0.2.${i}`]]))
  const dns = await openDns(t, { ...many, 'both.test': ['192.0.2.200', '2001:db8::7'] }, 60)
  const port = await forward(Number(dns.address.split(':')[1]), { protocol: 'udp' })
  const resolver = new Resolver({ timeout: 1000, tries: 4 })
  resolver.setServers([`${host}:${port}`])

  t.same(await resolver.resolve4('both.test'), ['192.0.2.200'])
  t.same(await resolver.resolve6('both.test'), ['2001:db8::7'])
  await t.rejects(resolver.resolve4('nobody.test'), { code: 'ENOTFOUND' })
  const answers = await Promise.all(Object.keys(many).map(name => resolver.resolve4(name)))
  t.same(answers, Object.values(many))
})

t.test('an idle session survives a restart of the server', async t => {
  const session = connect(await forward(await openLineServer(t)), host)
  t.teardown(() => session.destroy())
  const replies = createInterface({ input: session })[Symbol.asyncIterator]()
  const ask = async (text: string) => {
    session.write(`${text}\n`)
    return (await replies.next()).value
  }
  t.equal(await ask('before'), '1 before')

  const opened = agent.count('rule.opened')
  await restart()

  t.equal(await ask('after'), '2 after')
  t.equal(agent.count('rule.opened'), opened)
})

async function restart(): Promise<void> {
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
  await cluster.restart()
  await cluster.server.until('client.connected')
}

/** Starts a server that echoes lines, each with its number on the connection. Returns its port. */
async function openLineServer(t: Test): Promise<number> {
  const server = createTcpServer(socket => {
    let count = 0
    socket.on('error', () => {})
    createInterface({ input: socket }).on('line', line => socket.write(`${++count} ${line}\n`))
  }).listen(0, host)
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port // a TCP address
}

const postgres = findPostgres()

t.test(
  'PostgreSQL serves a pool of clients, and a session continues while the server restarts',
  { skip: postgres === null && 'postgres is not installed', timeout: 240_000 },
  async t => {
    if (!postgres) return
    const port = await forward(await openPostgres(t, postgres))
    const at = ['-h', host, '-p', `${port}`, '-U', 'postgres']
    const pgbench = (...args: string[]) => run(join(postgres.bin, 'pgbench'), [...at, ...args, 'postgres'])
    await pgbench('--initialize', '--quiet')

    const { stdout } = await pgbench('--client=8', '--jobs=2', '--transactions=50', '--no-vacuum')

    t.match(stdout, /actually processed: 400\/400/)
    t.match(stdout, /failed transactions: 0 /)
    const session = openSession(t, join(postgres.bin, 'psql'), at)
    const backend = await session.ask('select pg_backend_pid()')
    t.equal(await session.ask('select count(*) from pgbench_history'), '400')
    await restart()
    t.equal(await session.ask('select pg_backend_pid()'), backend)
  }
)

interface Postgres {
  readonly bin: string
  /** PostgreSQL refuses to run as root. */
  readonly user: { readonly uid: number; readonly gid: number } | null
}

function findPostgres(): Postgres | null {
  const dirs = (process.env['PATH'] ?? '').split(':')
  const found = dirs.map(dir => join(dir, 'postgres')).find(existsSync)
  if (!found) return null
  const bin = dirname(realpathSync(found))
  if (process.getuid?.() !== 0) return { bin, user: null }
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  return uid && gid ? { bin, user: { uid: Number(uid), gid: Number(gid) } } : null
}

/** Starts PostgreSQL with a new database. Returns its port. */
async function openPostgres(t: Test, { bin, user }: Postgres): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
  const port = await freePort()
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  if (user) chownSync(dir, user.uid, user.gid)
  const options = { cwd: dir, ...user }
  await run(join(bin, 'initdb'), ['-D', dir, '-A', 'trust', '-U', 'postgres', '--no-sync'], options)
  const settings = [`listen_addresses=${host}`, `port=${port}`, 'unix_socket_directories=', 'fsync=off']
  const server = spawnChild(
    join(bin, 'postgres'),
    ['-D', dir, ...settings.flatMap(setting => ['-c', setting])],
    options
  )
  t.teardown(async () => {
    server.kill('SIGQUIT')
    await once(server, 'exit')
  })
  for await (const line of createInterface({ input: server.stderr }))
    if (line.includes('ready to accept connections')) break
  server.stderr.resume()
  return port
}

/** Starts a psql session. `ask` sends a query and reads one line. */
function openSession(t: Test, program: string, at: readonly string[]) {
  const child = spawnChild(program, [...at, '--no-psqlrc', '--quiet', '-At', 'postgres'], { stdio: 'pipe' })
  t.teardown(() => child.kill('SIGKILL'))
  const replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(query: string): Promise<string> {
      child.stdin.write(`${query};\n`)
      return (await replies.next()).value ?? ''
    }
  }
}
