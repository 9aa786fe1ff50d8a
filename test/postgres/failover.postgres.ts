// A primary that dies and a standby that takes over without the last changes, under a server that runs, or dies, too.
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { Credential } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { noteRevoked, watchStore } from '../../kernel/store/sql/watch.ts'
import { openRunningAgent } from '../../kit/running-agent.ts'
import { connectAgent } from '../../kit/scripted-agent.ts'
import { insertClient, recordLog, type TestServer, testServer } from '../../kit/test-server.ts'
import { openFailover } from '../../plugins/control/failover.ts'
import { expectFound, findingsOf, freePorts } from '../../plugins/doctor/test/provoke.ts'
import { type BreakableLink, breakableLink } from '../support/breakable-link.ts'
import { freePort } from '../support/ports.ts'
import { privateDir } from '../support/private-dir.ts'
import { start } from '../support/process.ts'
import { token } from '../support/test-cluster.ts'
import { makeCluster, type Standby } from './cluster.ts'
import { emptyDatabase } from './empty-database.ts'

const operating = join(import.meta.dirname, '..', '..', 'docs', 'OPERATING.md')

interface Pair {
  readonly link: BreakableLink // to the database, by one address
  readonly url: string // of the database sluice
  readonly primary: pg.Client
  readonly at: Standby['at'] // of the one that is in force
  /** What is committed from now on does not reach the standby, which has all that was before. */
  detach(): Promise<void>
  /** The primary dies as without power, and the standby takes over its address. */
  failOver(): void
  /** New connections lead to the standby, which takes over; those that are there stay. */
  divide(): void
}

/** Makes a primary with a standby that follows. */
async function pairOf(t: Test): Promise<Pair> {
  const primary = await makeCluster(true)
  t.teardown(primary.remove)
  primary.start()
  await runAt(primary.at('postgres'), [
    'create role ordinary login', // as OPERATING.md makes it
    "create database sluice owner ordinary encoding 'UTF8' template template0"
  ])
  const standby = await primary.standby()
  t.teardown(standby.remove)
  let inForce: Pick<Standby, 'at'> = primary
  const link = await breakableLink(t, () => Number(new URL(inForce.at('sluice').url).port))
  const [client, follower] = await Promise.all([clientOf(t, primary), clientOf(t, standby)])
  const promote = (): void => {
    standby.promote()
    inForce = standby
  }
  return {
    link,
    url: `postgres://ordinary@127.0.0.1:${link.port}/sluice`,
    primary: client,
    at: database => inForce.at(database),
    async detach() {
      const { rows } = await client.query('select pg_current_wal_lsn()::text as lsn')
      await untilTrue(follower, `select pg_last_wal_replay_lsn() >= '${rows[0].lsn}' as yes`)
      await follower.query(`alter system set primary_conninfo = ''`)
      await follower.query('select pg_reload_conf()')
      await untilTrue(follower, 'select not exists (select from pg_stat_wal_receiver) as yes')
    },
    failOver() {
      primary.kill()
      promote()
      link.cut()
      link.heal()
    },
    divide: promote
  }
}

async function clientOf(t: Test, { at }: Pick<Standby, 'at'>): Promise<pg.Client> {
  const client = new pg.Client(at('sluice').url)
  client.on('error', () => {}) // its database is killed
  await client.connect()
  t.teardown(() => client.end().catch(() => {}))
  return client
}

/** PostgreSQL tells nobody what its standby has done. */
async function untilTrue(client: pg.Client, question: string): Promise<void> {
  while ((await client.query(question)).rows[0]?.yes !== true) await wait(20)
}

const generationOf = async ({ at }: Pair): Promise<string> => {
  const client = new pg.Client(at('sluice').url)
  await client.connect()
  const { rows } = await client.query(`select value from kernel_fact where name = 'generation'`)
  await client.end()
  return rows[0].value
}

/** Calls until the store is back: each answer before is 503. */
async function untilBack(app: TestServer): Promise<void> {
  for (;;) {
    const { status } = await app.call('GET', '/v1/users')
    if (status === 200) return
    if (status !== 503) throw new Error(`the answer was ${status}`)
    await wait(50)
  }
}

const bearer = (value: string) => ({ authorization: `Bearer ${value}` })
const ruleOn = (listenPort: number) => ({
  client: 'paris',
  listen_port: listenPort,
  targets: [{ host: '10.0.0.1', port: 80 }]
})

t.test(
  'a standby that was behind takes over: what was revoked stays so, and agents are compared in full',
  async t => {
    const pair = await pairOf(t)
    const app = await testServer(t, { keys: { store_url: pair.url } })
    const make = async (id: string, body: object = {}) => {
      await app.call('POST', '/v1/users', { user_id: id, display_name: id, ...body })
      const { body: made } = await app.call<{ token: string; credential_id: string }>(
        'POST',
        `/v1/users/${id}/credentials`,
        {}
      )
      return made
    }
    const [ann, bob, carl, dora] = [
      await make('ann', { initial_password: 'first-password-of-ann', password_change_required: false }),
      await make('bob'),
      await make('carl', { role: 'superadmin' }),
      await make('dora')
    ]
    await make('root', { role: 'superadmin' })
    const eve = await make('eve')
    const agent = await openRunningAgent(t, app, 'paris')
    const { control } = app.server
    const lost = await insertClient(app, 'lost')
    const scripted = (clientToken: string) =>
      connectAgent(t, { port: control.port(), fingerprint: control.fingerprint, token: clientToken })
    const granted = await app.call<{ grant_id: string }>('POST', '/v1/grants', {
      ...{ user_id: 'bob', client_id: '*', listen_port_start: 1, listen_port_end: 9 },
      protocols: ['tcp']
    })
    t.equal(granted.status, 201)
    t.match(await app.call('POST', '/v1/rules', ruleOn(8001)), { status: 201, body: { state: 'active' } })
    const signIn = (password: string) =>
      app.call('POST', '/v1/auth/login', { user_id: 'ann', password }, { authorization: '' })
    t.equal((await signIn('first-password-of-ann')).status, 200)
    const before = await generationOf(pair)

    await pair.detach()
    t.match(await app.call('POST', '/v1/rules', ruleOn(8002)), { status: 201, body: { state: 'active' } })
    t.equal((await app.call('POST', `/v1/clients/${lost}/revoke`)).status, 204)
    t.equal((await app.call('DELETE', `/v1/users/ann/credentials/${ann.credential_id}`)).status, 204)
    const rotated = await app.call<{ token: string }>(
      'POST',
      `/v1/users/eve/credentials/${eve.credential_id}/rotate`
    )
    t.equal(rotated.status, 201)
    t.equal((await app.call('PATCH', '/v1/users/bob', { disabled: true })).status, 200)
    t.equal((await app.call('PATCH', '/v1/users/carl', { role: 'user' })).status, 200)
    t.equal((await app.call('DELETE', '/v1/users/dora')).status, 200)
    t.equal((await app.call('DELETE', `/v1/grants/${granted.body.grant_id}`)).status, 200)
    const reset = { new_password: 'second-password-of-ann', temporary: false, keep_api_tokens: true }
    t.equal((await app.call('POST', '/v1/users/ann/password', reset)).status, 200)
    t.equal(agent.engine.rules.size, 2)
    const opened = agent.engine.opened.length

    pair.failOver()
    await untilBack(app)

    t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(ann.token))).status, 401)
    t.match(await app.call('GET', '/v1/users/me', undefined, bearer(bob.token)), {
      status: 401,
      body: { error: { code: 'user_disabled' } }
    })
    t.match(await app.call('GET', '/v1/users/me', undefined, bearer(carl.token)), { body: { role: 'user' } })
    t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(dora.token))).status, 401)
    t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(eve.token))).status, 401)
    t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(rotated.body.token))).status, 200)
    t.same((await app.call('GET', '/v1/grants')).body, [])
    t.equal((await signIn('first-password-of-ann')).status, 401)
    t.equal((await signIn('second-password-of-ann')).status, 200)
    await t.rejects(scripted(lost), { code: 'token_revoked' })

    t.not(await generationOf(pair), before)
    await agent.connected()
    t.ok(agent.log.some(({ fields }) => fields['reason'] === 'store_restored'))
    while (agent.engine.rules.size > 1) await wait(20)
    t.same(
      [...agent.engine.rules.values()].map(({ from }) => from),
      [8001],
      'the rule that the standby does not know is gone'
    )
    t.equal(agent.engine.opened.length, opened, 'the other one was not opened again')
    t.match(
      app.log.filter(({ event }) => event === 'store.restored'),
      [
        {
          level: 'warn',
          fields: { cluster: /\/00000002$/, cluster_before: /\/00000001$/, revoked_again: 8 }
        }
      ]
    )
    t.equal((await app.call('POST', '/v1/rules', ruleOn(8003))).status, 201)

    const after = await generationOf(pair)
    await app.restart()
    t.equal(await generationOf(pair), after, 'a restart restores nothing')
  }
)

t.test('what a killed server has revoked last stays so when it starts on the standby', async t => {
  const pair = await pairOf(t)
  const dir = join(t.testdir(), 'data')
  const api = await freePort()
  const serve = () =>
    start(t, ['server', '--data-dir', dir], {
      SVC_STORE_URL: pair.url,
      SVC_OPERATOR_TOKEN: token,
      SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
  const call = async (method: string, path: string, body?: object, by = token) => {
    const reply = await fetch(`http://127.0.0.1:${api}${path}`, {
      method,
      headers: { ...bearer(by), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) }
  }
  const server = serve()
  await server.until('server.started')
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', role: 'superadmin' })
  const { body: first } = await call('POST', '/v1/users/ann/credentials', {})
  const { body: second } = await call('POST', '/v1/users/ann/credentials', {})
  t.equal((await call('GET', '/v1/users/me', undefined, first.token)).status, 200)
  t.equal((await call('DELETE', `/v1/users/ann/credentials/${second.credential_id}`)).status, 204)

  await pair.detach()
  t.equal((await call('DELETE', `/v1/users/ann/credentials/${first.credential_id}`)).status, 204)
  server.signal('SIGKILL')
  await server.exit
  pair.failOver()
  const next = serve()
  await next.until('server.started')

  t.match(await next.until('store.restored'), { revoked_again: 1 })
  t.equal((await call('GET', '/v1/users/me', undefined, first.token)).status, 401)
  next.signal('SIGTERM')
  t.equal(await next.exit, 0)
})

/** A store with one credential, as a server has it whose lock is not in the way of another one. */
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
    ...{ store, dataDir: dir, log: recordLog(log), filled: () => [] },
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

t.test('each of several servers repeats what it has revoked, also one that comes later', async t => {
  const pair = await pairOf(t)
  const open = await withCredentials(t, pair)
  const { one: dirOne, two: dirTwo, idle: dirIdle } = dirs(t)
  const [one, two, idle] = [await open(dirOne), await open(dirTwo), await open(dirIdle)]
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

t.test('a read whose new connection leads to the standby waits until that counts as restored', async t => {
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

  t.same(await one.revoked(), ['one'], 'its first answer has what was revoked')
  t.equal(one.restored(), 1)
})

t.test('a database that does not tell what it is works as before', async t => {
  const pair = await pairOf(t)
  await pair.primary.query('revoke execute on function pg_control_system() from public')
  const open = await withCredentials(t, pair)
  const one = await open(dirs(t).one)
  await pair.detach()
  await one.revoke('one')

  pair.failOver()
  while ((await one.revoked().catch(() => [])).length === 0) await wait(20)

  t.same(await one.revoked(), ['one'], 'what is lacking there tells that it is behind')
  t.equal(one.restored(), 1)
})

t.test('what a change, or a part of it, has not revoked in the end is not kept', async t => {
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

t.test('doctor warns of a standby that may be behind, and of what a power failure may damage', async t => {
  const pair = await pairOf(t)
  const args = ['doctor', '--data-dir', privateDir(t, {})]
  const env = { ...freePorts, SVC_STORE_URL: pair.url }
  await expectFound(t, args, env, {
    'store.unsynced': /fsync and full_page_writes/,
    'store.standby': /1 standby follows, and synchronous_standby_names is empty/
  })

  const remedy = readFileSync(join(import.meta.dirname, 'synchronous.sql'), 'utf8')
  t.ok(readFileSync(operating, 'utf8').includes(`\`\`\`sql test/postgres/synchronous.sql\n${remedy}\`\`\``))
  const statements = [`alter system set fsync = on;`, `alter system set full_page_writes = on;`, remedy]
  for (const statement of statements.join('').split(';').slice(0, -1)) await pair.primary.query(statement)
  await untilTrue(pair.primary, `select current_setting('synchronous_standby_names') <> '' as yes`)

  t.same(
    (await findingsOf('store', {}, { keys: { store_url: pair.url } })).map(finding => 'ok' in finding),
    [true]
  )
})

function dirs(t: Test): { one: string; two: string; idle: string } {
  const dir = t.testdir({ one: {}, two: {}, idle: {} })
  return { one: join(dir, 'one'), two: join(dir, 'two'), idle: join(dir, 'idle') }
}
