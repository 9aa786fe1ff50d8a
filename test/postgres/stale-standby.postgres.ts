// A store connects to a stale standby, and the cluster reacts.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Credential } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import { noteRevoked, watchStore } from '../../kernel/store/sql/store-watch.ts'
import { recordLog } from '../../kit/test-server.ts'
import { openFailover } from '../../plugins/servers/failover.ts'
import { emptyDatabase } from './empty-database.ts'
import { type Pair, pairOf } from './pair.ts'

/** Opens a store with one credential, like a server with a lock that does not block other servers. */
async function withCredentials(t: Test, { url }: Pair): Promise<(dir: string) => ReturnType<typeof watched>> {
  const place = { url, password: undefined }
  const store = await openStore(place, [kernelStore])
  const row = (id: string) => ({ id, userId: 'ann', label: id, tokenHash: hashOf(id), createdAt: 1 })
  await store.change(async em => {
    for (const id of ['one', 'two']) await em.insert(Credential, row(id))
  })
  await store.close()
  return dir => watched(t, place, dir)
}

async function watched(t: Test, place: { url: string; password: undefined }, dir: string) {
  chmodSync(dir, 0o700)
  const store = await openStore(place, [])
  t.teardown(store.close)
  const log: Parameters<typeof recordLog>[0] = []
  let restored = 0
  const generation = await openFailover({
    store,
    dataDir: dir,
    log: recordLog(log),
    filled: () => [],
    restored: () => void restored++
  })
  const sql = 'update kernel_credential set revoked_at = 2 where id = ?'
  return {
    store,
    log,
    generation,
    restored: () => restored,
    revoke: (id: string) =>
      store.change(async em => {
        await em.execute(sql, [id])
        noteRevoked(em, sql, [id])
      }),
    revoked: async () => {
      const rows = await store.read(em =>
        em.execute<{ id: string }[]>('select id from kernel_credential where revoked_at = 2 order by id')
      )
      return rows.map(({ id }) => id)
    }
  }
}

t.test('each server of a cluster repeats its revocations, even one that joins later', async t => {
  const pair = await pairOf(t)
  const open = await withCredentials(t, pair)
  const { one: dirOne, two: dirTwo, idle: dirIdle } = dirs(t)
  const one = await open(dirOne)
  const two = await open(dirTwo)
  const idle = await open(dirIdle)
  t.equal(one.generation(), two.generation())
  await pair.detach()
  await one.revoke('one')
  await two.revoke('two')
  await two.store.close()

  pair.failOver()
  while ((await one.revoked().catch(() => [])).length === 0) await wait(20)
  t.same(await one.revoked(), ['one'])
  t.equal(one.restored(), 1)
  while (!(await idle.revoked().catch(() => null))) await wait(20)
  t.equal(idle.generation(), one.generation())
  t.equal(idle.restored(), 1)
  t.match(idle.log, [{ event: 'store.restored', fields: { revoked_again: 0 } }])
  const late = await open(dirTwo)

  t.same(await late.revoked(), ['one', 'two'])
  t.match(late.log, [{ event: 'store.restored', fields: { revoked_again: 1 } }])
  t.equal((await open(dirOne)).log.length, 0)
})

t.test('a read on a new connection to the standby waits until the standby counts as restored', async t => {
  const pair = await pairOf(t)
  const open = await withCredentials(t, pair)
  const one = await open(dirs(t).one)
  const writer = await one.store.change(em =>
    em.execute<{ pid: number }[]>('select pg_backend_pid() as pid').then(([row]) => row?.pid)
  )
  await pair.detach()
  await one.revoke('one')

  pair.divide()
  await pair.primary.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ordinary' and pid <> ${writer}`
  )

  t.same(await one.revoked(), ['one'], 'its first answer includes the revocations')
  t.equal(one.restored(), 1)
})

t.test('a database that hides its role works without failover detection', async t => {
  const pair = await pairOf(t)
  await pair.primary.query('revoke execute on function pg_control_system() from public')
  const open = await withCredentials(t, pair)
  const one = await open(dirs(t).one)
  await pair.detach()
  await one.revoke('one')

  pair.failOver()
  while ((await one.revoked().catch(() => [])).length === 0) await wait(20)

  t.same(await one.revoked(), ['one'], 'missing revocations show that the standby is stale')
  t.equal(one.restored(), 1)
})

t.test('a revocation that a change or a part of it rolled back is not recorded', async t => {
  const store = await openStore(await emptyDatabase(t), [kernelStore])
  t.teardown(store.close)
  const seen: unknown[] = []
  await store.read(em =>
    watchStore(em, {
      opened: async () => () => {},
      revoked: async statements => () => void seen.push(statements.map(({ values }) => values))
    })
  )

  await store.change(async em => {
    noteRevoked(em, 'select ?', [1])
    await em
      .transactional(async part => {
        noteRevoked(part, 'select ?', [2])
        throw new Error('no')
      })
      .catch(() => {})
  })
  await store.change(async em => noteRevoked(em, 'select ?', [3]))
  await t.rejects(
    store.change(async em => {
      noteRevoked(em, 'select ?', [4])
      throw new Error('no')
    })
  )

  t.same(seen, [[[1]], [[3]]])
})

function dirs(t: Test): { one: string; two: string; idle: string } {
  const dir = t.testdir({ one: {}, two: {}, idle: {} })
  return { one: join(dir, 'one'), two: join(dir, 'two'), idle: join(dir, 'idle') }
}
