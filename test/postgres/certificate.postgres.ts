// The certificate of servers that share a database: sealed in it, and opened by the key file of each.
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import SqliteFile from 'better-sqlite3'
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { newId } from '../../kernel/base/id.ts'
import { inDependencyOrder } from '../../kernel/dependency-order.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { type Database, openStore } from '../../kernel/store/open.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { type LogLine, recordLog } from '../../kit/test-server.ts'
import { openCertificate } from '../../plugins/control/certificate.ts'
import { openKeep, servedCertificate } from '../../plugins/control/keep.ts'
import { namedCertificates, requirePinned, setStoreValue } from '../../plugins/control/pinned-certificate.ts'
import { Rotation } from '../../plugins/control/rotation.ts'
import { makeStoreKey } from '../../plugins/control/store-key.ts'
import { privateDir } from '../support/private-dir.ts'
import { type Process, sluice, start } from '../support/process.ts'
import { startAgent, testCluster, token } from '../support/test-cluster.ts'
import { connectTo, emptyDatabase } from './empty-database.ts'

const root = join(import.meta.dirname, '..', '..')
const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const stores = [kernelStore, ...inDependencyOrder(plugins)]
const keyUnusable = { errorCode: { code: 'startup.store_key', exit: 78 } }

interface Fixture {
  readonly place: PostgresPlace
  readonly store: Database
  readonly log: LogLine[]
  /** Makes a data directory; returns its path. */
  dirOf(name: string): string
  keepIn(dir: string): ReturnType<typeof openKeep>
  /** Does with the certificate what a start does in this data directory. Returns the fingerprint. */
  startIn(dir: string, given?: string, by?: Database): Promise<string>
  enroll(name: string): Promise<void>
}

async function fixture(t: Test): Promise<Fixture> {
  const place = await emptyDatabase(t)
  const store = await openStore(place, stores)
  t.teardown(store.close)
  const base = privateDir(t)
  const log: LogLine[] = []
  const keepIn = (dir: string, by = store) => openKeep({ dir, store: by, log: recordLog(log) })
  return {
    ...{ place, store, log, keepIn },
    dirOf(name) {
      mkdirSync(join(base, name), { mode: 0o700 })
      return join(base, name)
    },
    async startIn(dir, given, by = store) {
      const keep = await keepIn(dir, by)
      await keep.settle(await by.read(namedCertificates))
      const settings = given === undefined ? {} : { certPath: given, keyPath: given }
      const { fingerprint } = await servedCertificate(keep, settings)
      await requirePinned(by, fingerprint)
      return fingerprint
    },
    async enroll(name) {
      const client = { id: newId(), name, tokenHash: hashOf(newSecret()), revision: 0, enrolledAt: 0 }
      await store.change(em => em.insert(Client, client))
    }
  }
}

const keyIn = (dir: string): string => join(dir, 'store.key')

t.test(
  'a second server has the certificate of the first with its key file, and is refused without',
  async t => {
    const { dirOf, startIn, log, store } = await fixture(t)
    const [one, two] = [dirOf('one'), dirOf('two')]

    const fingerprint = await startIn(one)

    t.equal(statSync(keyIn(one)).mode & 0o777, 0o600)
    t.match(log, [{ event: 'certificate.sealed', fields: { file: keyIn(one) } }])
    t.notOk(existsSync(join(one, 'control.pem')))
    const missing = `${keyIn(two)} is missing, which opens the certificate of this store. Copy it from store.key of the data`
    await t.rejects(startIn(two), { ...keyUnusable, message: missing })
    t.notOk(existsSync(keyIn(two)), 'none is made there')

    makeStoreKey(two)
    await t.rejects(startIn(two), {
      ...keyUnusable,
      message: /two\/store\.key is the key \w{16}, of another store/
    })

    copyFileSync(keyIn(one), keyIn(two))
    t.equal(await startIn(two), fingerprint)
    t.equal(await startIn(one), fingerprint)
    t.equal(log.length, 1, 'it is told once')
    const [row] = await store.read(em => em.execute<object[]>('select * from control_certificate'))
    t.notMatch(JSON.stringify(row), /PRIVATE KEY/)
    t.notMatch(JSON.stringify(row), readFileSync(keyIn(one), 'utf8').trim())
  }
)

t.test('of servers that start at once, one makes the certificate, and the others are refused', async t => {
  const { dirOf, startIn, place } = await fixture(t)
  const dirs = ['one', 'two', 'three'].map(dirOf)
  const own = await Promise.all(dirs.map(() => openStore(place, []))) // connections of their own, without a lock
  for (const { close } of own) t.teardown(close)

  const ends = await Promise.allSettled(dirs.map((dir, at) => startIn(dir, undefined, own[at])))

  const started = ends.flatMap(end => (end.status === 'fulfilled' ? [end.value] : []))
  t.equal(started.length, 1)
  for (const end of ends) if (end.status === 'rejected') t.match(end.reason, keyUnusable)
  const first = dirs[ends.findIndex(({ status }) => status === 'fulfilled')] ?? ''
  for (const dir of dirs) if (dir !== first) copyFileSync(keyIn(first), keyIn(dir))
  t.same(new Set(await Promise.all(dirs.map(dir => startIn(dir)))), new Set(started))
})

t.test('what somebody has changed in the database is refused', async t => {
  const { dirOf, startIn, place } = await fixture(t)
  const dir = dirOf('one')
  await startIn(dir)
  const client = await connectTo(t, place)
  const other = await openCertificate(dirOf('other'))
  const refused = {
    errorCode: { code: 'startup.tls_invalid', exit: 78 },
    message: /does not open, and .*is its key/
  }

  await client.query('create table kept as select * from control_certificate')
  await client.query('update control_certificate set certificate = $1', [other.cert])
  await t.rejects(startIn(dir), refused, 'another certificate')
  await client.query('update control_certificate set certificate = (select certificate from kept) || $1', [
    other.cert
  ])
  await t.rejects(startIn(dir), refused, 'a certificate more in the chain')
  await client.query('update control_certificate set certificate = (select certificate from kept)')
  await client.query("update control_certificate set sealed_key = overlay(sealed_key placing 'AAAA' from 41)")
  await t.rejects(startIn(dir), refused, 'another key')
  await client.query("update control_certificate set sealed_key = ''")
  await t.rejects(startIn(dir), refused, 'none')
  await client.query('update control_certificate set sealed_key = (select sealed_key from kept)')
  await startIn(dir)
})

t.test(
  'the files of a build that had them in the data directory are taken over, a staged one, too',
  async t => {
    const { dirOf, startIn, store, log, enroll, keepIn } = await fixture(t)
    const [old, empty, staged] = [dirOf('old'), dirOf('empty'), dirOf('staged')]
    const { fingerprint } = await openCertificate(old)
    const { fingerprint: next } = await openCertificate(staged)
    copyFileSync(join(staged, 'control.pem'), join(old, 'control.next.pem'))
    await store.change(async em => {
      await setStoreValue('leaf', fingerprint, em)
      await setStoreValue('next_leaf', next, em)
    })
    await enroll('paris')
    const absent =
      /have the certificate \w{64}, whose key is not in the store: .* start first the server whose data directory/
    await t.rejects(startIn(empty), { errorCode: { code: 'startup.tls_invalid' }, message: absent })
    t.notOk(existsSync(keyIn(empty)))

    t.equal(await startIn(old), fingerprint)

    t.match(log, [{ event: 'certificate.sealed' }])
    for (const name of ['control.pem', 'control.next.pem']) t.notOk(existsSync(join(old, name)))
    copyFileSync(keyIn(old), keyIn(empty))
    t.equal(await startIn(empty), fingerprint)
    const keep = await keepIn(empty)
    t.equal((await keep.next())?.fingerprint, next)
  }
)

t.test('the files beside a store of SQLite stay: it may be used again', async t => {
  const { dirOf, startIn, store } = await fixture(t)
  const dir = dirOf('moved')
  writeFileSync(join(dir, 'sluice.db'), '')
  const { fingerprint } = await openCertificate(dir)
  await store.change(em => setStoreValue('leaf', fingerprint, em))

  t.equal(await startIn(dir), fingerprint)
  rmSync(join(dir, 'control.pem'))
  t.equal(await startIn(dir), fingerprint, 'it is in the store, too')
})

t.test('a certificate is staged by one server, and activated by another', async t => {
  const { dirOf, startIn, store, keepIn, enroll } = await fixture(t)
  const [one, two] = [dirOf('one'), dirOf('two')]
  const before = await startIn(one)
  copyFileSync(keyIn(one), keyIn(two))
  await enroll('paris')
  const rotationIn = async (dir: string) => new Rotation({ keep: await keepIn(dir), settings: {}, store })

  const { fingerprint } = await (await rotationIn(one)).reissue({ names: [] }, 'rotate')
  t.equal(await startIn(two), before)
  await t.rejects((await rotationIn(two)).activate('careful'), /do not know the next certificate yet: paris/)
  t.match(await (await rotationIn(two)).activate('force'), { fingerprint })

  t.equal(await startIn(one), fingerprint)
  t.equal(await startIn(two), fingerprint)
  t.equal(await (await keepIn(one)).next(), null)
})

t.test(
  'a switch that ended between its steps is finished by the next start, and an unnamed draft goes',
  async t => {
    const { dirOf, startIn, store, keepIn } = await fixture(t)
    const dir = dirOf('one')
    await startIn(dir)
    const keep = await keepIn(dir)
    const next = await keep.save('next', await openCertificate(dirOf('next')))
    await store.change(em => setStoreValue('leaf', next.fingerprint, em))

    t.equal(await startIn(dir), next.fingerprint)

    await keep.save('next', await openCertificate(dirOf('draft')))
    await startIn(dir)
    t.equal(await keep.next(), null)
  }
)

t.test('a given certificate is the same on all servers, also before the first client', async t => {
  const { dirOf, startIn, store, keepIn } = await fixture(t)
  const [one, two] = [dirOf('one'), dirOf('two')]
  const pem = (dir: string) => join(dir, 'control.pem')
  const given = await openCertificate(dirOf('given'))
  await openCertificate(one)
  copyFileSync(pem(one), join(two, 'given.pem'))
  const fingerprint = await startIn(one, pem(one))
  t.notOk(existsSync(keyIn(one)), 'nothing is sealed')

  t.equal(await startIn(two, join(two, 'given.pem')), fingerprint)
  const own = await openCertificate(dirOf('another'))
  const refused = {
    errorCode: { code: 'startup.tls_invalid' },
    message: /and the servers of this store have/
  }
  await t.rejects(startIn(two, join(two, '..', 'another', 'control.pem')), {
    ...refused,
    message: `the certificate is ${own.fingerprint}, and the servers of this store have ${fingerprint}`
  })
  await t.rejects(startIn(two), {
    errorCode: { code: 'startup.tls_invalid' },
    message: /configure it \(tls_cert_path/
  })

  const file = join(two, '..', 'given', 'control.pem')
  const settings = { certPath: pem(one), keyPath: pem(one) }
  const rotation = new Rotation({ keep: await keepIn(one), settings, store })
  await rotation.reissue({ from: { certPath: file } }, 'rotate')
  t.match(await rotation.activate('careful'), { fingerprint: given.fingerprint, isShadowed: true })
  await t.rejects(startIn(one, pem(one)), refused)
  t.equal(await startIn(one, file), given.fingerprint)
  t.equal(await startIn(two, file), given.fingerprint, 'which needs no key file')
  t.equal(await startIn(one), given.fingerprint, 'without a configuration it is the sealed one')
})

/** Starts a server of another data directory. */
async function startAt(t: Test, control: string, dir: string, url: string): Promise<Process> {
  const server = start(t, ['server', '--data-dir', dir], {
    SVC_STORE_URL: url,
    SVC_OPERATOR_TOKEN: token,
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: control,
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  })
  await server.until('server.started')
  return server
}

const fingerprintOf = ({ events }: Process): unknown =>
  events.find(({ event }) => event === 'server.started')?.['server_cert_sha256']

async function stop(server: Process): Promise<void> {
  server.signal('SIGTERM')
  await server.exit
}

/** Runs the listing of the guide as it is printed, but for the places. */
async function playJoin(t: Test, from: string, to: string): Promise<void> {
  const file = 'test/postgres/join.sh'
  const text = readFileSync(join(root, file), 'utf8')
  const guide = readFileSync(join(root, 'docs/OPERATING.md'), 'utf8')
  t.ok(guide.includes(`\`\`\`sh ${file}\n${text}\`\`\``), `${file} is what the guide shows`)
  const own = text.replace('cat /var/lib/sluice', `cat ${from}`).replaceAll('/var/lib/sluice', to)
  const words = 'set -e; systemctl() { :; }; ssh() { shift; "$@"; }\n'
  await promisify(execFile)('bash', ['-c', words + own], { env: { PATH: process.env['PATH'] } })
}

t.test(
  'an agent moves from one server to another, which has no more than store_url and the key file',
  { timeout: 180_000 },
  async t => {
    const { url } = await emptyDatabase(t)
    const cluster = await testCluster(t, { SVC_STORE_URL: url })
    const [one, two] = [join(cluster.dir, 'server'), join(cluster.dir, 'two')]
    const paris = await startAgent(t, cluster, 'paris')
    const inTwo = (...args: string[]) => sluice([...args, '--data-dir', two], { SVC_STORE_URL: url })
    const staging = ['cert', 'reissue', '--rotate', '--san', 'gate.example']
    for (const command of [staging, ['cert', 'activate', '--force']])
      t.match(await inTwo(...command), { code: 75 }, 'a server runs')
    t.match(await inTwo('cert', 'show'), { code: 0, stdout: cluster.fingerprint })
    const missing = await inTwo('server')
    t.match(missing, { code: 78, stderr: `startup.store_key: ${keyIn(two)} is missing` })
    makeStoreKey(two)
    const wrong = await inTwo('server')
    t.match(wrong, { code: 78, stderr: /startup\.store_key: .* of another store/ })
    t.notMatch(wrong.stderr, readFileSync(keyIn(two), 'utf8').trim())
    t.match(await inTwo('doctor'), { code: 1, stdout: /of another store/ })
    t.match(await inTwo('backup', cluster.dir), { code: 2, stderr: /pg_dump .*store\.key/s })
    t.equal(cluster.server.count('client.disconnected'), 0, 'the first one goes on')

    await playJoin(t, one, two)
    const beside = await startAt(t, '127.0.0.1:0', two, url)
    t.equal(fingerprintOf(beside), cluster.fingerprint)
    await Promise.all([stop(beside), stop(cluster.server)])
    renameSync(keyIn(two), join(two, 'key'))
    t.match(await inTwo(...staging), { code: 78, stderr: /startup\.store_key/ })
    renameSync(join(two, 'key'), keyIn(two))
    const seen = paris.agent.events.length
    const server = await startAt(t, `127.0.0.1:${cluster.controlPort}`, two, url)
    t.notMatch(server.output(), readFileSync(keyIn(two), 'utf8').trim())
    await paris.agent.until('control.connected', undefined, seen)
    t.notOk(existsSync(join(two, 'control.pem')))
    t.notMatch((await inTwo('doctor')).stdout, /store_key/)
    await stop(server)

    const { stdout } = await inTwo(...staging, '--output', 'json')
    const { fingerprint: next } = JSON.parse(stdout)
    const again = paris.agent.events.length
    await cluster.restart()
    await cluster.server.until('certificate.next_told')
    await paris.agent.until('control.connected', undefined, again)
    await stop(cluster.server)
    t.match(await inTwo('cert', 'activate'), { code: 0, stdout: next })
    const last = paris.agent.events.length
    await cluster.restart()
    t.equal(fingerprintOf(cluster.server), next)
    await paris.agent.until('control.connected', undefined, last)
  }
)

t.test(
  'a store whose key is lost gets a new certificate by cert activate --force, and no other way',
  async t => {
    const { url } = await emptyDatabase(t)
    const cluster = await testCluster(t, { SVC_STORE_URL: url })
    const dir = join(cluster.dir, 'server')
    const given = join(cluster.dir, 'given.pem')
    await cluster.call('POST', '/v1/client-enrollments', { name: 'paris' })
    await startAgent(t, cluster, 'lyon')
    await stop(cluster.server)
    rmSync(keyIn(dir))
    writeFileSync(given, 'none', { mode: 0o600 })
    const activate = (...more: string[]) =>
      sluice(['cert', 'activate', '--data-dir', dir, '--output', 'json', ...more], { SVC_STORE_URL: url })
    t.match(await activate(), { code: 78, stderr: /startup\.store_key/ })
    const garbage = { SVC_STORE_URL: url, SVC_TLS_CERT_PATH: given, SVC_TLS_KEY_PATH: given }
    t.match(await sluice(['cert', 'activate', '--force', '--data-dir', dir], garbage), { code: 78 })
    writeFileSync(keyIn(dir), 'none', { mode: 0o600 })
    t.match(await activate('--force'), { code: 78, stderr: /not a key of sluice/ })
    rmSync(keyIn(dir))

    const { code, stdout } = await activate('--force')

    t.equal(code, 0)
    const { fingerprint, lost } = JSON.parse(stdout)
    t.not(fingerprint, cluster.fingerprint)
    t.match(lost, [{ name: 'lyon' }])
    await cluster.restart()
    t.equal(fingerprintOf(cluster.server), fingerprint)
  }
)

t.test('the certificate goes with the store to PostgreSQL and back, a staged one, too', async t => {
  const [at, other] = [await emptyDatabase(t), await emptyDatabase(t)]
  const cluster = await testCluster(t)
  const [dir, joined] = [join(cluster.dir, 'server'), join(cluster.dir, 'joined')]
  await stop(cluster.server)
  const run = (store: string, ...args: string[]) =>
    sluice([...args, '--data-dir', dir], { SVC_STORE_URL: store, SVC_CONTROL_LISTEN: '127.0.0.1:0' })
  const staged = await run('sqlite:', 'cert', 'reissue', '--rotate', '--san', 'x', '--output', 'json')
  const { fingerprint: next } = JSON.parse(staged.stdout)
  const files = ['control.pem', 'control.next.pem'].map(name => join(dir, name))
  const before = files.map(file => readFileSync(file, 'utf8'))

  const there = await run('sqlite:', 'store', 'migrate', '--to', at.url)

  t.match(there, { code: 0, stdout: /store\.key in .* opens it: save that file, and copy it/ })
  t.same(
    files.map(file => readFileSync(file, 'utf8')),
    before,
    'those of the old store stay'
  )
  for (const file of files) rmSync(file)
  mkdirSync(joined, { mode: 0o700 })
  copyFileSync(keyIn(dir), keyIn(joined))
  t.match(await run(at.url, 'cert', 'show'), { code: 0, stdout: cluster.fingerprint })
  const server = await startAt(t, '127.0.0.1:0', joined, at.url)
  t.equal(fingerprintOf(server), cluster.fingerprint)
  await stop(server)

  renameSync(join(dir, 'sluice.db'), join(dir, 'old.db'))
  t.equal((await run(at.url, 'store', 'migrate', '--to', other.url)).code, 0, 'to another database')
  const back = (...more: string[]) => run(other.url, 'store', 'migrate', '--to', 'sqlite:', ...more)
  renameSync(keyIn(dir), join(dir, 'key'))
  t.match(await back(), { code: 78, stderr: /startup\.store_key/ })
  renameSync(join(dir, 'key'), keyIn(dir))
  await openCertificate(joined)
  copyFileSync(join(joined, 'control.pem'), files[0] ?? '')
  t.match(await back(), {
    code: 78,
    stderr: /store_target_not_empty: --to: .*control\.pem is not the certificate/
  })
  t.notOk(existsSync(join(dir, 'sluice.db')), 'nothing is kept')
  rmSync(files[0] ?? '')
  t.match(await back(), { code: 0, stdout: /A certificate that the server had made itself is in/ })
  t.same(
    files.map(file => readFileSync(file, 'utf8')),
    before
  )
  for (const file of files) t.equal(statSync(file).mode & 0o777, 0o600)
  const [row] = inFile(join(dir, 'sluice.db'), 'select count(*) as rows from control_certificate')
  t.same(row, { rows: 0 })
  t.match(await run('sqlite:', 'cert', 'show'), { code: 0, stdout: next })
})

function inFile(file: string, sql: string): unknown[] {
  const database = new SqliteFile(file, { readonly: true })
  const rows = database.prepare(sql).all()
  database.close()
  return rows
}
