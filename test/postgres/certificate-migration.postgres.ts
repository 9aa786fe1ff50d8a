// The certificate of a server moves with its store; a lost key means a new certificate. Real processes.
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
import SqliteFile from 'better-sqlite3'
import t from 'tap'
import { openCertificate } from '../../plugins/certificate/certificate.ts'
import { sluice } from '../support/process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'
import { emptyDatabase } from './empty-database.ts'
import { fingerprintOf, keyIn, startAt, stop } from './second-server.ts'

t.test('a store that lost its key gets a new certificate only by cert activate --force', async t => {
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
})

t.test('the certificate moves with the store to PostgreSQL and back, and so does a staged one', async t => {
  const at = await emptyDatabase(t)
  const other = await emptyDatabase(t)
  const cluster = await testCluster(t)
  const dir = join(cluster.dir, 'server')
  const joined = join(cluster.dir, 'joined')
  await stop(cluster.server)
  const run = (store: string, ...args: string[]) =>
    sluice([...args, '--data-dir', dir], { SVC_STORE_URL: store, SVC_CONTROL_LISTEN: '127.0.0.1:0' })
  const staged = await run('sqlite:', 'cert', 'reissue', '--rotate', '--san', 'x', '--output', 'json')
  const { fingerprint: next } = JSON.parse(staged.stdout)
  const files = ['control.pem', 'control.next.pem'].map(name => join(dir, name))
  const before = files.map(file => readFileSync(file, 'utf8'))

  const there = await run('sqlite:', 'store', 'migrate', '--to', at.url)

  t.match(there, { code: 0, stderr: /store\.key in .* opens it: save that file, and copy it/ })
  t.same(
    files.map(file => readFileSync(file, 'utf8')),
    before,
    'the files of the old store stay'
  )
  for (const file of files) rmSync(file)
  mkdirSync(joined, { mode: 0o700 })
  copyFileSync(keyIn(dir), keyIn(joined))
  t.match(await run(at.url, 'cert', 'show'), { code: 0, stdout: cluster.fingerprint })
  const server = await startAt(t, '127.0.0.1:0', joined, at.url)
  t.equal(fingerprintOf(server), cluster.fingerprint)
  await stop(server)

  renameSync(join(dir, 'sluice.db'), join(dir, 'old.db'))
  t.equal((await run(at.url, 'store', 'migrate', '--to', other.url)).code, 0, 'moves to another database')
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
  t.notOk(existsSync(join(dir, 'sluice.db')), 'the old file is deleted')
  rmSync(files[0] ?? '')
  t.match(await back(), { code: 0, stderr: /A certificate that the server had made itself is in/ })
  t.same(
    files.map(file => readFileSync(file, 'utf8')),
    before
  )
  for (const file of files) t.equal(statSync(file).mode & 0o777, 0o600)
  const [row] = inFile(join(dir, 'sluice.db'), 'select count(*) as rows from certificate_sealed')
  t.same(row, { rows: 0 })
  t.match(await run('sqlite:', 'cert', 'show'), { code: 0, stdout: next })
})

function inFile(file: string, sql: string): unknown[] {
  const database = new SqliteFile(file, { readonly: true })
  const rows = database.prepare(sql).all()
  database.close()
  return rows
}
