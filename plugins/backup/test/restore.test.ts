// Revocations made after a backup stay in force after its restore, if the lost store can be read.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { slotReader } from '../../../kernel/slot.ts'
import { lockStore } from '../../../kernel/store/data-dir.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { type Revocation, revocationSlot } from '../../../kernel/store/revocation.ts'
import auth from '../../auth/plugin.ts'
import { openCertificate } from '../../certificate/certificate.ts'
import certificate from '../../certificate/plugin.ts'
import { makeStoreKey, readStoreKey, storeKeyFile } from '../../certificate/store-key.ts'
import control from '../../control/plugin.ts'
import enrollment from '../../enrollment/plugin.ts'
import grants from '../../grants/plugin.ts'
import servers from '../../servers/plugin.ts'
import { writeBackup } from '../file.ts'
import { restore } from '../restore.ts'

const version = '2.0.0'
const now = Date.parse('2026-11-21T03:00:00Z')
const plugins = [kernelStore, certificate, servers, control, auth, enrollment, grants]
const revocations = slotReader('kernel', [auth, enrollment, grants], () => ({}))(revocationSlot).map(
  ({ value }) => value
)

async function executeSql(dir: string, ...statements: string[]): Promise<void> {
  const store = await openStore(join(dir, 'sluice.db'), plugins)
  for (const sql of statements) await store.change(em => em.execute(sql, [], 'run'))
  await store.close()
}

async function query(dir: string, sql: string): Promise<unknown[]> {
  const store = await openStore(join(dir, 'sluice.db'), [])
  try {
    return (await store.read(em => em.execute<object[]>(sql))).map(row => Object.values(row).join(' '))
  } finally {
    await store.close()
  }
}

const client = (id: string, hash: string) =>
  `insert into kernel_client (id, name, token_hash, revision, enrolled_at) values ('${id}', '${id}', '${hash}', 7, 1)`
const user = (id: string, role: string) =>
  `insert into kernel_user (id, display_name, role, disabled, created_at) values ('${id}', '${id}', '${role}', 0, 1)`
const credential = (id: string, userId: string) =>
  `insert into kernel_credential (id, user_id, label, token_hash, created_at) values ('${id}', '${userId}', '${id}', 'h${id}', 1)`

async function restoreFixture(t: Test) {
  const dir = t.testdir({ old: {} })
  const [old, target, file] = [join(dir, 'old'), join(dir, 'new'), join(dir, 'a.backup')]
  chmodSync(old, 0o700)
  const { fingerprint } = await openCertificate(old)
  await executeSql(
    old,
    `insert into kernel_store_value values ('generation', 'one'), ('leaf', '${fingerprint}')`,
    ...[client('gone', 'a'), client('revoked', 'b'), client('again', 'c'), client('same', 'd')],
    ...[user('ann', 'superadmin'), user('bob', 'superadmin'), user('eve', 'user'), user('off', 'user')],
    ...[user('opal', 'operator'), user('vic', 'viewer')],
    ...[credential('kept', 'ann'), credential('ended', 'ann'), credential('rotated', 'ann')],
    "insert into auth_password values ('ann', 'before', 0, 1, null), ('bob', 'bob', 0, 1, null)",
    "insert into auth_session (id, user_id, token_hash, remote_addr, created_at, last_seen_at, factors, fresh_at) values ('s', 'ann', 'x', '', 1, 1, '[]', 1)",
    "insert into enrollment (id, code_hash, pin, name, created_by, created_at, expires_at) values ('e', 'e', 'e', 'e', 'ann', 1, 1)",
    "insert into grants (id, user_id, port_from, port_to, protocols, created_at) values ('g', 'eve', 1, 2, '[]', 1)"
  )
  const backup = (from = old) => writeBackup({ dataDir: from, keys: {}, version, now }, file)
  await backup()
  const restoreBackup = (oldDir?: string, to = target, more: readonly Revocation[] = []) => {
    const all = [...more, ...revocations]
    return restore({ file, dataDir: to, oldDir, revocations: all, stores: plugins, version, now })
  }
  return { dir, old, target, file, restoreBackup, backup, fingerprint }
}

t.test(
  'revocations of clients, users, credentials, passwords and grants are applied again and reported',
  async t => {
    const { old, target, restoreBackup } = await restoreFixture(t)
    await executeSql(
      old,
      "delete from kernel_client where id = 'gone'",
      "update kernel_client set token_hash = null, revoked_at = 9 where id = 'revoked'",
      "update kernel_client set token_hash = 'c2' where id = 'again'",
      "insert into kernel_spent_token values ('a', 'gone', 9), ('b', 'revoked', 9), ('c', 'again', 9)",
      client('late', 'l'),
      "update kernel_user set role = 'operator' where id = 'bob'",
      "update kernel_user set role = 'viewer' where id = 'opal'",
      "update kernel_user set role = 'superadmin' where id = 'vic'",
      "delete from kernel_user where id = 'eve'",
      "update kernel_user set disabled = 1 where id = 'off'",
      "update kernel_credential set revoked_at = 9 where id = 'ended'",
      "update kernel_credential set token_hash = 'h2' where id = 'rotated'",
      "update auth_password set hash = 'after' where user_id = 'ann'",
      'delete from grants'
    )

    const { revoked_since: revoked, warnings } = await restoreBackup(old)

    t.same(warnings, [])
    t.same(Object.fromEntries((revoked ?? []).map(({ what, names }) => [what, names.toSorted()])), {
      'revoked clients': ['gone', 'revoked'],
      'clients with the token of a later enrollment': ['again'],
      'disabled users': ['eve', 'off'],
      'demoted users': ['bob', 'opal'],
      'revoked credentials': ['ann ended'],
      'rotated credentials': ['ann rotated'],
      'changed passwords of': ['ann'],
      'deleted grants of': ['eve'],
      'clients to be enrolled again': ['late']
    })
    t.same(
      await query(
        target,
        "select id, coalesce(token_hash, '-'), revoked_at is null from kernel_client order by id"
      ),
      ['again c2 1', 'gone - 0', 'revoked - 0', 'same d 1']
    )
    t.same(await query(target, 'select id, role from kernel_user order by id'), [
      'ann superadmin',
      'bob operator',
      'eve user',
      'off user',
      'opal viewer',
      'vic viewer'
    ])
    t.same(await query(target, 'select hash from kernel_spent_token order by hash'), ['a', 'b', 'c'])
    t.same(
      await query(target, 'select id, token_hash, revoked_at is null from kernel_credential order by id'),
      ['ended hended 0', 'kept hkept 1', 'rotated h2 1']
    )
    t.same(await query(target, 'select user_id, hash from auth_password order by user_id'), [
      'ann after',
      'bob bob'
    ])
    t.same(await query(target, 'select count(*) from grants'), ['0'])
  }
)

t.test('a revocation that fails does not keep those of other plugins from being repeated', async t => {
  const { old, target, restoreBackup } = await restoreFixture(t)
  await executeSql(old, 'delete from grants', "update kernel_user set disabled = 1 where id = 'off'")
  const failing = {
    table: 'auth_password',
    title: 'changed keys of',
    sql: 'update auth_password set missing = 1'
  }

  const { revoked_since: revoked, warnings } = await restoreBackup(old, target, [failing])

  t.match(warnings, [/^Not repeated: changed keys of in the table auth_password \(.*missing.*\)/])
  t.equal(warnings.length, 1)
  t.same(
    revoked?.map(({ what }) => what),
    ['disabled users', 'deleted grants of']
  )
})

t.test(
  'sessions and unused codes are always deleted; the generation is new, the revisions are kept',
  async t => {
    const { target, restoreBackup, fingerprint } = await restoreFixture(t)

    const { revoked_since: revoked, warnings } = await restoreBackup()

    t.equal(revoked, null)
    t.match(warnings, [/what was revoked after the backup is valid again/])
    t.same(await query(target, 'select count(*) from auth_session'), ['0'])
    t.same(await query(target, 'select count(*) from enrollment'), ['0'])
    t.same(await query(target, 'select distinct revision from kernel_client'), ['7'])
    const [generation] = await query(target, "select value from kernel_store_value where name = 'generation'")
    t.match(generation, /^[0-9a-f]{32}$/)
    t.equal((await openCertificate(target)).fingerprint, fingerprint)
    t.equal(statSync(join(target, 'control.pem')).mode & 0o777, 0o600)
    t.equal(statSync(join(target, 'sluice.db')).mode & 0o777, 0o600)
    t.same(await query(target, "select name from sqlite_master where name = 'sluice_backup'"), [])
  }
)

t.test('a store that is not a later state of the backup revokes nothing', async t => {
  const { dir, target, restoreBackup } = await restoreFixture(t)
  const unrelated = join(dir, 'unrelated')
  mkdirSync(unrelated)
  await executeSql(unrelated, "insert into kernel_store_value values ('generation', 'another')")

  const { revoked_since: revoked, warnings } = await restoreBackup(unrelated)

  t.equal(revoked, null)
  t.match(warnings, [/not a later state of this backup/])
  t.same(await query(target, 'select count(*) from kernel_client where revoked_at is null'), ['4'])
})

t.test('the key of sealed secrets is restored with the store, and an earlier one is set aside', async t => {
  const { old, target, backup, restoreBackup } = await restoreFixture(t)
  const sealed = makeStoreKey(old).seal('a secret', 'x')
  await backup()
  t.equal((await restoreBackup()).set_aside, null)
  t.equal(readStoreKey(target)?.open(sealed, 'x'), 'a secret')
  t.equal(statSync(storeKeyFile(target)).mode & 0o777, 0o600)

  const { id } = makeStoreKey(target)
  const { set_aside: aside } = await restoreBackup()
  t.equal(readStoreKey(target)?.open(sealed, 'x'), 'a secret')
  t.equal(readStoreKey(aside ?? '')?.id, id)
})

t.test('a damaged store is reported, and the backup is restored nevertheless', async t => {
  const { old, target, restoreBackup } = await restoreFixture(t)
  writeFileSync(join(old, 'sluice.db'), readFileSync(join(old, 'sluice.db')).fill(7, 100, 9000))

  const { revoked_since: revoked, warnings } = await restoreBackup(old)

  t.equal(revoked, null)
  t.match(warnings, [/could not be read/])
  t.same(await query(target, 'select count(*) from kernel_client where revoked_at is null'), ['4'])
})

t.test('a revocation between two restores stays in force', async t => {
  const { old, restoreBackup } = await restoreFixture(t)
  await restoreBackup(undefined, old)
  await executeSql(old, "update kernel_client set token_hash = null, revoked_at = 9 where id = 'revoked'")

  const { revoked_since: revoked, set_aside: aside } = await restore({
    file: join(old, '..', 'a.backup'),
    dataDir: old,
    oldDir: undefined,
    revocations,
    stores: plugins,
    version,
    now: now + 1000
  })

  t.same(revoked, [{ what: 'revoked clients', names: ['revoked'] }])
  t.ok(existsSync(join(aside ?? '', 'control.pem')))
})

t.test('a certificate that was rotated after the backup is kept, because agents pin it', async t => {
  const { dir, old, target, restoreBackup } = await restoreFixture(t)
  const later = join(dir, 'later')
  mkdirSync(later)
  const { fingerprint } = await openCertificate(later)
  writeFileSync(join(old, 'control.pem'), readFileSync(join(later, 'control.pem')), { mode: 0o600 })
  await executeSql(old, `update kernel_store_value set value = '${fingerprint}' where name = 'leaf'`)

  await restoreBackup(old)

  t.equal((await openCertificate(target)).fingerprint, fingerprint)
  t.same(await query(target, "select value from kernel_store_value where name = 'leaf'"), [fingerprint])
})

t.test('a data directory in use, a backup of a newer sluice and a damaged backup are refused', async t => {
  const { dir, old, file, restoreBackup, target } = await restoreFixture(t)
  const release = lockStore(old)
  await t.rejects(restoreBackup(undefined, old), /is in use/)
  await release()

  const newer = join(dir, 'newer.backup')
  await writeBackup({ dataDir: old, keys: {}, version: '9.0.0', now }, newer)
  const options = {
    file: newer,
    dataDir: target,
    oldDir: undefined,
    revocations,
    stores: plugins,
    version,
    now
  }
  await t.rejects(restore(options), /made by sluice 9\.0\.0, this is 2\.0\.0/)
  t.notOk(existsSync(join(target, 'sluice.db')))
  t.notOk(existsSync(join(target, 'restore.new')))

  writeFileSync(file, readFileSync(file).subarray(0, 8192))
  await t.rejects(restoreBackup(), /a\.backup is damaged/)
  t.notOk(existsSync(join(target, 'sluice.db')))
})

t.test('a crafted backup is refused, and the data directory stays as it was', async t => {
  const { dir, old, file, restoreBackup } = await restoreFixture(t)
  const [first, other] = [join(dir, 'first'), join(dir, 'other')]
  for (const path of [first, other]) mkdirSync(path)
  await openCertificate(first)
  await openCertificate(other)
  const foreignPair = readFileSync(join(first, 'control.pem'), 'utf8')
    .replace(/-----BEGIN PRIVATE KEY[\s\S]+/, '')
    .concat(/-----BEGIN PRIVATE KEY[\s\S]+/.exec(readFileSync(join(other, 'control.pem'), 'utf8'))?.[0] ?? '')
  const clean = readFileSync(file)
  const state = () =>
    readdirSync(old)
      .filter(name => !name.startsWith('lock.db'))
      .map(name => [name, statSync(join(old, name)).mode, statSync(join(old, name)).size])
  const before = state()
  const table: readonly [RegExp, string][] = [
    [
      /trigger evil is not of sluice/,
      "create trigger evil after insert on kernel_store_value begin update kernel_user set role = 'superadmin'; end"
    ],
    [/view evil is not of sluice/, 'create view evil as select * from kernel_user'],
    [/table evil is not of sluice/, 'create virtual table evil using fts5(x)'],
    [/table evil is not of sluice/, 'create table evil (x)'],
    [/index evil is not of sluice/, 'create index evil on kernel_user (hex(id))'],
    [/table kernel_user is not of sluice/, 'alter table kernel_user add column evil text default 1'],
    [/it lacks table auth_session/, 'drop table auth_session'],
    [/kernel has migrations that this build/, "insert into schema_migration (name) values ('kernel/0002-x')"],
    [/too large/, "update sluice_backup set value = hex(zeroblob(9e5)) where name = 'certificate'"],
    [
      /the key belongs to another certificate/,
      `update sluice_backup set value = '${foreignPair}' where name = 'certificate'`
    ],
    [/operator token is malformed/, "insert into sluice_backup values ('operator_token', 'a\nb')"]
  ]
  for (const [message, sql] of table) {
    writeFileSync(file, clean)
    const crafted = await openStore(file, [])
    await crafted.change(em => em.execute(sql, [], 'run'))
    await crafted.close()
    await t.rejects(restoreBackup(undefined, old), { name: 'Fault', message }, sql)
    t.same(state(), before, sql)
  }
  writeFileSync(file, clean)
  t.match(await restoreBackup(undefined, old), { warnings: [] }, 'the file as it was is restored')
})

t.test('tables of a plugin that is not loaded are restored, too', async t => {
  const { target, file, restoreBackup } = await restoreFixture(t)
  const store = await openStore(file, [])
  await store.change(async em => {
    await em.execute("insert into schema_migration (name) values ('acme-hooks/0001-first')", [], 'run')
    await em.execute('create table acme_hooks_target (id text)', [], 'run')
  })
  await store.close()

  await restoreBackup()

  t.same(await query(target, 'select count(*) from acme_hooks_target'), ['0'])
})

t.test('only a file can be restored: not a directory, a pipe or a missing path', async t => {
  const { dir, target, restoreBackup, file } = await restoreFixture(t)
  rmSync(file)
  await t.rejects(restoreBackup(), { name: 'Fault', message: /cannot be read: ENOENT/ })
  execFileSync('mkfifo', [file])
  await t.rejects(restoreBackup(), { name: 'Fault', message: /is not a backup/ })
  rmSync(file)
  mkdirSync(file)
  await t.rejects(restoreBackup(), { name: 'Fault', message: /is not a backup/ })
  t.notOk(existsSync(target))
  t.ok(existsSync(dir))
})

t.test('a stale certificate beside the later store is not taken over', async t => {
  const { old, target, restoreBackup, fingerprint } = await restoreFixture(t)
  await executeSql(old, `update kernel_store_value set value = '${'0'.repeat(64)}' where name = 'leaf'`)

  const { warnings } = await restoreBackup(old)

  t.match(warnings, [/Agents pin the certificate 0000.* which is not in/])
  t.equal((await openCertificate(target)).fingerprint, fingerprint)
})
