// sluice store migrate, from SQLite to PostgreSQL and back: real processes, and every refusal.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, connect as dial } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { sluice } from '../support/process.ts'
import { startAgent, statsOf, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { emptyDatabase } from './empty-database.ts'

const root = join(import.meta.dirname, '..', '..')

/** Runs a listing of the guide as printed, except for paths. The test stops and starts the server. */
async function play(t: Test, cluster: TestCluster, file: string, url: string): Promise<string> {
  const text = readFileSync(join(root, file), 'utf8')
  const guide = readFileSync(join(root, 'docs/OPERATING.md'), 'utf8')
  t.ok(guide.includes(`\`\`\`sh ${file}\n${text}\`\`\``), `${file} is what the guide shows`)
  const own = text
    .replaceAll('/etc/sluice/server.toml', cluster.configFile)
    .replaceAll('/var/lib/sluice', join(cluster.dir, 'server'))
    .replaceAll('postgres://sluice@db.example.com/sluice', url)
  const words = `set -e; systemctl() { :; }; sluice() { '${process.execPath}' '${join(root, 'kernel/bin.ts')}' "$@"; }\n`
  const { stderr } = await promisify(execFile)('bash', ['-c', words + own], {
    env: { PATH: process.env['PATH'] }
  })
  return stderr
}

async function stop({ server }: TestCluster): Promise<void> {
  server.signal('SIGTERM')
  await server.exit
}

/** Starts a target that answers each part with one word and never closes. Returns its port. */
async function startTarget(t: Test): Promise<number> {
  const server = createServer(socket => socket.on('error', () => {}).on('data', () => socket.write('hello')))
  t.teardown(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Opens a connection that stays open. Returns a function that sends a part and resolves with the answer. */
function openLive(t: Test, port: number): () => Promise<string> {
  const socket = dial(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  return async () => {
    socket.write('who?')
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(10_000) })
    return String(answer)
  }
}

const password = 'correct horse battery staple'

/** The state that an operator made: a user with a password, one with a token, a grant, a quota, limits, a rule with labels. */
async function furnish(cluster: TestCluster, listen: number, target: number) {
  const { call } = cluster
  await call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann \u{1f4e1} "é"' })
  await call('POST', '/v1/users/root/password', { new_password: password })
  const { token: bearer } = await call<{ token: string }>('POST', '/v1/users/ann/credentials', {
    label: 'ci'
  })
  await cluster.json('grant', 'create', 'ann', 'paris', '10000-32767', '--target', '127.0.0.0/8')
  await cluster.json('quota', 'set', 'ann', 'paris', '500000000')
  await cluster.json('owner-limit', 'set', 'ann', 'paris', '--bandwidth-out-bps', '1000000000')
  const { rule_id: rule } = await call<{ rule_id: string }>(
    'POST',
    '/v1/rules',
    {
      client: 'paris',
      listen_port: listen,
      targets: [{ host: '127.0.0.1', port: target }],
      labels: { env: 'prod' }
    },
    bearer
  )
  return { bearer, rule }
}

t.test(
  'a store moves to PostgreSQL and back while its agent forwards; rules, counters, passwords and tokens stay valid',
  { timeout: 280_000 },
  async t => {
    const { url } = await emptyDatabase(t)
    const cluster = await testCluster(t)
    cluster.configure(`data_dir = "${join(cluster.dir, 'server')}"\n`)
    const paris = await startAgent(t, cluster, 'paris')
    const target = await startTarget(t)
    const port = await freePort()
    const { bearer, rule } = await furnish(cluster, port, target)
    const live = openLive(t, port)
    t.match(await live(), /hello/)
    await statsOf(cluster, rule, ({ bytes_out }) => bytes_out === 5)

    const login = await fetch(`${cluster.origin}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user_id: 'root', password })
    })
    const session = login.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
    const statusWith = async (cookie: string) =>
      (await fetch(`${cluster.origin}/v1/users/me`, { headers: { cookie } })).status
    const before = await statusWith(session)
    t.not(before, await statusWith('svc_session=other'))

    /** Stops the server, moves the store, starts the server, and checks that everything continues. */
    const move = async (listing: string, answers: number): Promise<string> => {
      await stop(cluster)
      t.match(await live(), /hello/, 'forwards while the store is moved')
      const said = await play(t, cluster, listing, url)
      const seen = paris.agent.events.length
      await cluster.restart()
      await paris.agent.until('control.connected', undefined, seen)
      t.match(await live(), /hello/, 'the connection from before is open')
      const stats = await statsOf(
        cluster,
        rule,
        ({ bytes_out: bytes, active_connections: active }) => bytes >= answers * 5 && active === 1
      )
      t.equal(stats.bytes_out, answers * 5, 'no byte is lost or counted twice')
      t.equal(stats.connections_total, 1, 'the same connection')
      const [quota] = await cluster.json<{ bytes_used: number }[]>('quota', 'list')
      t.equal(quota?.bytes_used, stats.bytes_in + stats.bytes_out)
      t.equal(paris.agent.count('rule.opened'), 1, 'the rule was not opened again')
      t.equal(paris.agent.count('rule.closed'), 0)
      const own = await cluster.call('GET', '/v1/rules', undefined, bearer)
      t.match(own, [{ rule_id: rule, state: 'active', labels: { env: 'prod' } }], 'the token of ann is valid')
      t.equal(await statusWith(session), before, 'a session stays valid')
      return said
    }

    const there = await move('test/postgres/migrate.sh', 3)
    t.match(there, /Next: set store_url = "postgres:.*" in the configuration/)
    await cluster.call('POST', '/v1/auth/login', { user_id: 'root', password })

    const back = await move('test/postgres/migrate-back.sh', 5)
    t.match(back, /Next: set store_url = "sqlite:"/)
    await cluster.call('POST', '/v1/auth/login', { user_id: 'root', password })
    await t.rejects(
      cluster.call('POST', '/v1/auth/login', { user_id: 'root', password: 'no' }),
      /invalid_login/
    )
  }
)

t.test(
  'a running server, a store in the target and a wrong --to are refused, and nothing changes',
  async t => {
    const at = await emptyDatabase(t)
    const other = await emptyDatabase(t)
    const cluster = await testCluster(t)
    const dir = join(cluster.dir, 'server')
    const file = join(cluster.dir, 'file')
    const migrate = (to: string, ...more: string[]) =>
      sluice(['store', 'migrate', '--to', to, '--data-dir', dir, ...more])

    t.match(await migrate(at.url), { code: 75, stderr: /startup\.store_in_use.*stop it/ })
    await stop(cluster)
    const secret = at.url.replace('sluice@', 'sluice:a-secret@')
    const refused = await migrate(secret)
    t.match(refused, { code: 2, stderr: /--to must be .* without a password.*SVC_STORE_PASSWORD/ })
    t.notMatch(refused.stderr, 'a-secret')
    t.match(await migrate('sqlite:'), { code: 2, stderr: /in SQLite already/ })
    t.match(await migrate(`sqlite:${file}`), { code: 2, stderr: /in SQLite already/ })
    const password = join(cluster.dir, 'password')
    const withPassword = () => migrate(at.url, '--password-file', password)
    t.match(await withPassword(), { code: 78, stderr: /: --password-file \S+: ENOENT/ })
    writeFileSync(password, 'a-secret', { mode: 0o644 })
    t.match(await withPassword(), { code: 78, stderr: /chmod 600/ })
    const gone = at.url.replace(/[^/]+$/, 'not_there')
    t.match(await migrate(gone), { code: 78, stderr: /create database not_there/ })
    t.match(await migrate(at.url, '--leave-behind', 'webhooks'), { code: 2, stderr: /no tables of webhooks/ })
    t.match(await migrate(at.url, '--data-dir', cluster.dir), { code: 2, stderr: /there is no store in/ })

    const moved = await migrate(at.url, '--output', 'json')
    t.equal(moved.code, 0, moved.stderr)
    t.match(moved.stderr, /Next: set store_url/)
    t.match(JSON.parse(moved.stdout), { from: join(dir, 'sluice.db'), to: at.url })
    t.match(await migrate(at.url), {
      code: 78,
      stderr: /store_target_not_empty: --to: the database holds a store/
    })

    const elsewhere = join(cluster.dir, 'elsewhere')
    const fromDatabase = (to: string) =>
      sluice(['store', 'migrate', '--to', to, '--data-dir', elsewhere], { SVC_STORE_URL: at.url })
    cluster.configure(`store_url = "${at.url}"\n`)
    await cluster.restart()
    t.match(await migrate(at.url), { code: 75 })
    t.match(
      await fromDatabase(other.url),
      { code: 75, stderr: /servers use the database/ },
      'by a lock in it'
    )
    await stop(cluster)
    t.match(await fromDatabase(`sqlite:${elsewhere}/no/store.db`), { code: 2, stderr: /no directory .*no/ })
    const between = await fromDatabase(other.url)
    t.equal(between.code, 0, `from one database to another: ${between.stderr}`)
    t.match(await fromDatabase('sqlite:'), { code: 78, stderr: /startup\.store_key/ }, 'without store.key')
    copyFileSync(join(dir, 'store.key'), join(elsewhere, 'store.key'))
    t.equal((await fromDatabase('sqlite:')).code, 0)
    t.match(await fromDatabase('sqlite:'), { code: 78, stderr: /sluice\.db.* must not exist/ })
    renameSync(join(elsewhere, 'sluice.db'), join(elsewhere, 'old.db'))
    writeFileSync(join(elsewhere, 'sluice.db-wal'), '')
    t.match(
      await fromDatabase('sqlite:'),
      { code: 78, stderr: /sluice\.db-wal must not exist/ },
      'a log of another'
    )
  }
)
