// Findings for a faulty server and store.
import { once } from 'node:events'
import { chmodSync, chownSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { testServer } from '../../../kit/test-server.ts'
import { privateDir } from '../../../test/support/private-dir.ts'
import { sluice } from '../../../test/support/process.ts'
import { dayMs, expectFound, freePorts, idsOf, metric, runCheck } from './provoke-findings.ts'

/** Returns the directory and the store of a server that ran once. */
async function usedDir(t: Test): Promise<{ dir: string; db: Database.Database }> {
  const { server, dir } = await testServer(t)
  await server.stop()
  const db = new Database(join(dir, 'sluice.db'))
  db.pragma('foreign_keys = off')
  return { dir, db }
}

type Values = Readonly<Record<string, string | number>>

/** Inserts a row. Missing columns that must not be null become 0 or an empty list. */
function insert(db: Database.Database, table: string, row: Values): void {
  const columns = db.pragma(`table_info(${table})`) as { name: string; notnull: number; type: string }[]
  const wanted = columns.filter(({ name, notnull }) => name in row || notnull === 1)
  const full = wanted.map(({ name, type }) => [name, row[name] ?? (/int|bool/i.test(type) ? 0 : '[]')])
  const names = wanted.map(({ name }) => name)
  db.prepare(`insert into ${table} (${names}) values (${names.map(name => `@${name}`)})`).run(
    Object.fromEntries(full)
  )
}

function fill(db: Database.Database, now: number): void {
  const client = (name: string, more: Values) =>
    insert(db, 'kernel_client', { id: name, name, token_hash: name, enrolled_at: now - 30 * dayMs, ...more })
  client('old', { agent_version: '1.9.0', last_seen_at: now })
  client('new', { agent_version: '99.0.0', last_seen_at: now + 3_600_000 })
  client('never', {})
  client('gone', { agent_version: ownVersion(), last_seen_at: now - 8 * dayMs })
  client('waiting', { agent_version: ownVersion(), last_seen_at: now })
  insert(db, 'clients_admission', { client_id: 'waiting', pending_since: now - dayMs })
  const remote_addrs = JSON.stringify(['192.0.2.1', '192.0.2.2'])
  insert(db, 'clients_instance_conflict', { client_id: 'old', seen_at: now, remote_addrs })
  insert(db, 'clients_instance_conflict', { client_id: 'new', seen_at: now - dayMs, remote_addrs })
  insert(db, 'enrollment', { name: 'unused', created_at: now - dayMs, expires_at: now - 1 })
  insert(db, 'rules', { id: 'r1', client_id: 'old', state: 'failed', state_reason: 'port_in_use' })
  insert(db, 'rules', { id: 'r2', client_id: 'old', state: 'pending', state_changed_at: now - dayMs })
  const quota = { client_id: 'old', monthly_bytes: 100, period_start: Math.floor(now / 1000) - 60 }
  insert(db, 'quota', { ...quota, user_id: 'ann', used: 100 })
  insert(db, 'quota', { ...quota, user_id: 'bob', used: 95 })
  insert(db, 'quota', { ...quota, user_id: 'eve', used: 100, period_start: 1 }) // in an ended period
  insert(db, 'kernel_user', { id: 'root', role: 'superadmin' })
  insert(db, 'auth_password', { user_id: 'root', expires_at: now - 1 })
  insert(db, 'kernel_user', { id: 'mute', role: 'user' })
  const credential = { user_id: 'root', created_at: now - 91 * dayMs }
  insert(db, 'kernel_credential', { ...credential, id: 'c1', token_hash: '1', expires_at: now + dayMs })
  insert(db, 'kernel_credential', { ...credential, id: 'c2', token_hash: '2' })
  insert(db, 'schedule', { rule_id: 'no such rule' })
}

const isRoot = process.getuid?.() === 0

t.test('findings from a store and its directory are reported', async t => {
  const { dir, db } = await usedDir(t)
  fill(db, Date.now())
  db.close()
  const copy = join(dir, 'sluice.db.before-20200101T000000Z')
  const open = join(dir, 'open')
  writeFileSync(copy, '', { mode: 0o600 })
  utimesSync(copy, 1, 1)
  writeFileSync(open, '')
  chmodSync(open, 0o644)
  if (isRoot) chownSync(open, 12_345, 0) // only root can give a file away

  await expectFound(t, ['doctor', '--data-dir', dir], freePorts, {
    'clock.behind': /\d+ s ahead/,
    'clients.older': /old 1\.9\.0/,
    'clients.newer': /new 99\.0\.0/,
    'clients.unseen': /never/,
    'clients.offline': /gone for 8 days/,
    'clients.conflict': /^old from 192\.0\.2\.1 and 192\.0\.2\.2$/,
    'enrollments.expired': /unused/,
    'approvals.waiting': /^waiting$/,
    'rules.failed': /r1 \(port_in_use\)/,
    'rules.waiting': /r2 pending for 24 hours/,
    'quotas.exhausted': /^ann on old$/,
    'quotas.near': /^bob on old$/,
    'users.one_administrator': /root/,
    'users.no_access': /mute/,
    'users.password_expired': /root/,
    'credentials.expire': /c1 of root/,
    'credentials.unused': /c2 of root/,
    'store.reference': /schedule/,
    'copies.old': /before-2020/,
    'backup.none': /for 30 days/,
    'directory.rights': /\/open$/,
    ...(isRoot && { 'directory.owner': /12345/ }),
    'settings.unscrapeable': /:0/
  })
})

t.test('a backup of today is fine, an old one is found', async t => {
  const { dir, db } = await usedDir(t)
  db.close()
  await sluice(['backup', join(dir, 'b.backup'), '--data-dir', dir], freePorts)

  t.match(await runCheck('backup', {}, { dir }), [{ ok: /^the last one is 0 min/ }])
  t.same(idsOf(await runCheck('backup', {}, { dir, now: Date.now() + 8 * dayMs })), ['backup.old'])
})

t.test('a damaged store without an administrator is found', async t => {
  const { dir, db } = await usedDir(t)
  db.exec('create table spoilt (x)')
  db.prepare('insert into spoilt values (?)').run(Buffer.alloc(40_000))
  db.pragma('wal_checkpoint(truncate)')
  db.close()
  const pages = readFileSync(join(dir, 'sluice.db'))
  writeFileSync(join(dir, 'sluice.db'), pages.fill(0xff, pages.length - 8192)) // a list of overflow pages

  await expectFound(t, ['doctor', '--data-dir', dir], freePorts, {
    'store.damaged': /sluice\.db: /,
    'users.no_administrator': /superadmin/
  })
})

t.test('a large write-ahead log is found', async t => {
  const dir = privateDir(t, { 'sluice.db': '', 'sluice.db-wal': '' })
  truncateSync(join(dir, 'sluice.db-wal'), 300 * 2 ** 20)

  t.same(idsOf(await runCheck('store', {}, { dir })), ['store.log'])
})

t.test('an exposed API and unusable addresses are found', async t => {
  const dir = privateDir(t, { bin: { timedatectl: '#!/bin/sh\necho no\n' } })
  chmodSync(join(dir, 'bin', 'timedatectl'), 0o755)
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const env = {
    SVC_OPERATOR_HTTP_LISTEN: '0.0.0.0:0',
    SVC_CONTROL_LISTEN: `127.0.0.1:${(holder.address() as AddressInfo).port}`,
    SVC_METRICS_LISTEN: '192.0.2.7:7081',
    SVC_LOG_LEVEL: 'debug',
    TZ: 'Mars/Olympus',
    PATH: `${join(dir, 'bin')}:${process.env['PATH']}`
  }

  await expectFound(t, ['doctor', '--data-dir', join(dir, 'data')], env, {
    'api.exposed': /0\.0\.0\.0:0/,
    'metrics.exposed': /192\.0\.2\.7/,
    'port.taken': /EADDRINUSE/,
    'port.address': /EADDRNOTAVAIL/,
    'settings.debug': /debug/,
    'clock.zone_unknown': /Mars/,
    'clock.unsynchronized': /clock/
  })
})

t.test('a database that cannot be opened is found', async t => {
  const url = 'postgres://sluice@127.0.0.1:1/sluice'

  await expectFound(
    t,
    ['doctor', '--data-dir', privateDir(t, {})],
    { ...freePorts, SVC_STORE_URL: url },
    {
      'store.unusable': /start PostgreSQL at 127\.0\.0\.1:1/
    }
  )
})

t.test('an invalid configuration is found', async t => {
  await expectFound(t, ['doctor'], { SVC_LOG_LEVEL: 'loud' }, { 'config.invalid': /LOG_LEVEL/ })
})

t.test('a check that throws is a finding and does not stop the others', async t => {
  const dir = privateDir(t, { 'sluice.db': 'not a database: the header is not that of SQLite' })

  await expectFound(t, ['doctor', '--data-dir', dir], freePorts, { 'check.failed': /not a database/ })
})

t.test('findings from the metrics of the running process are reported', async t => {
  const samples = [
    metric('process_max_fds', 100_000),
    metric('process_open_fds', 90_000),
    metric('svc_build_info', 1, { version: '1.0.0' }),
    metric('svc_rule_target_failed', 1, { target: '10.0.0.1:80', rule: 'r', reason: 'refused' })
  ]
  const metrics = { metrics: async () => samples }

  t.same(idsOf(await runCheck('descriptors', {}, metrics)), ['descriptors.near'])
  t.same(idsOf(await runCheck('settings', {}, metrics)), ['settings.old_process'])
  t.same(idsOf(await runCheck('targets', {}, metrics)), ['targets.failed'])
})
