// A newer build starts on the store of an older release and keeps all data. An older build refuses a newer store.
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Migration } from '@mikro-orm/migrations'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import type { PluginStore } from '../../kernel/store/sql/migrations.ts'
import { acmeRelease, withAcme, writeAcme } from '../support/acme.ts'
import { freePort } from '../support/ports.ts'
import { start } from '../support/process.ts'
import { startAgent, type TestCluster, testCluster, token } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

const current: readonly PluginStore[] = [
  kernelStore,
  ...(await Promise.all(Object.values(builtin).map(async load => (await load()).default)))
]

/** Plugins that the older release lacks. The upgrading start creates their tables. */
const addedPlugins = ['journal', 'labels', 'under-attack']

const laterMigrations = [
  ...current
    .filter(({ name }) => addedPlugins.includes(name))
    .flatMap(({ name, store }) => (store?.migrations ?? []).map(migration => `${name}/${migration.name}`)),
  'acme/0002-word'
]

/** Reverts the later migrations in the store of a stopped server. */
function downgrade(dir: string): void {
  const db = new Database(join(dir, 'sluice.db'))
  for (const { name, store } of current)
    if (addedPlugins.includes(name))
      for (const { meta } of store?.entities ?? []) db.exec(`drop table "${meta.tableName}"`)
  db.exec('alter table "acme_start" drop column "word"')
  const forget = db.prepare<[string]>('delete from schema_migration where name = ?')
  for (const migration of laterMigrations) forget.run(migration)
  db.close()
}

const migrationsOf = (dir: string): string[] => {
  const db = new Database(join(dir, 'sluice.db'), { readonly: true })
  const rows = db.prepare<[], { name: string }>('select name from schema_migration').all()
  db.close()
  return rows.map(({ name }) => name)
}

async function stop(cluster: TestCluster): Promise<void> {
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
}

async function api<T>({ origin }: TestCluster, path: string, body?: object): Promise<T> {
  const reply = await fetch(`${origin}/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) })
  })
  if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
  return (await reply.json()) as T
}

/** Returns `bytes_out` once this number of connections is reported, or after 30 s. Agents report every five seconds. */
async function bytesOut(cluster: TestCluster, rule: string, connections: number): Promise<number> {
  for (const until = Date.now() + 30_000; ; await setTimeout(250)) {
    const stats = await api<Record<string, number>>(cluster, `/rules/${rule}/stats`)
    if (Number(stats['connections_total']) >= connections || Date.now() > until)
      return Number(stats['bytes_out'])
  }
}

/** Starts a server with the second release of the plugin acme. */
async function openCluster(t: Test): Promise<TestCluster> {
  const cluster = await testCluster(t)
  await stop(cluster)
  cluster.configure(withAcme)
  writeAcme(cluster.dir, 'plugin', acmeRelease(2), 2)
  await cluster.restart()
  return cluster
}

async function openClusterWithData(t: Test) {
  const cluster = await openCluster(t)
  const paris = await startAgent(t, cluster, 'paris')
  const target = await startWebServer(t)
  const port = await freePort()
  await api(cluster, '/users', { user_id: 'ann', display_name: 'Ann', role: 'superadmin' })
  const issued = await api<{ token: string }>(cluster, '/users/ann/credentials', { label: 'laptop' })
  const push = (listen_port: number) =>
    api<{ rule_id: string }>(cluster, '/rules', {
      client: 'paris',
      listen_port,
      targets: [{ host: '127.0.0.1', port: target }]
    })
  const { rule_id: rule } = await push(port)
  await get(`http://127.0.0.1:${port}/`)
  return { cluster, paris, port, ann: issued.token, rule, push, bytes: await bytesOut(cluster, rule, 1) }
}

t.test('a start migrates the store of an older release', { timeout: 200_000 }, async t => {
  t.ok(laterMigrations.length > addedPlugins.length, 'each added plugin has a migration')
  const { cluster, paris, port, ann, rule, push, bytes } = await openClusterWithData(t)
  const dir = join(cluster.dir, 'server')
  await stop(cluster)
  downgrade(dir)
  t.notOk(
    migrationsOf(dir).some(name => laterMigrations.includes(name)),
    'the old store lacks the later migrations'
  )

  const seen = paris.agent.events.length
  await cluster.restart()
  await paris.agent.until('control.connected', undefined, seen)

  t.same(
    laterMigrations.filter(name => !migrationsOf(dir).includes(name)),
    [],
    'every migration ran'
  )
  t.match(
    await api(cluster, '/acme'),
    [
      { id: 1, word: 'old' },
      { id: 2, word: 'new' }
    ],
    'an old row has the default of the added column'
  )
  t.match(await api(cluster, '/users/ann'), { user_id: 'ann', display_name: 'Ann' })
  const me = await fetch(`${cluster.origin}/v1/users/me`, { headers: { authorization: `Bearer ${ann}` } })
  t.match(await me.json(), { user_id: 'ann' }, 'the token of ann is still valid')
  t.match(await api(cluster, `/rules/${rule}`), { state: 'active', listen_port: port })
  t.match(await get(`http://127.0.0.1:${port}/`), /hello/)
  t.ok(bytes > 0)
  t.equal(await bytesOut(cluster, rule, 2), 2 * bytes, 'counters continue from the committed values')
  const next = await freePort()
  await push(next)
  t.match(await get(`http://127.0.0.1:${next}/`), /hello/, 'and new rules are accepted')
})

t.test('an older build refuses a newer store and does not change it', async t => {
  const cluster = await openCluster(t)
  await stop(cluster)
  const dir = join(cluster.dir, 'server')
  const copy = join(cluster.dir, 'copy')
  mkdirSync(copy, { mode: 0o700 })
  cpSync(join(dir, 'sluice.db'), join(copy, 'sluice.db'))

  const older: PluginStore = {
    name: 'acme',
    store: { entities: [], migrations: [{ name: '0001-start', class: Migration as never }] }
  }
  await t.rejects(openStore(join(copy, 'sluice.db'), [...current, older]), {
    errorCode: { code: 'startup.schema_version_too_new', exit: 78 },
    message: /^acme: the database has schema 2, this build knows 1; start the newer build again$/
  })

  const db = new Database(join(dir, 'sluice.db'))
  db.prepare("insert into schema_migration (name, executed_at) values ('rules/0099-later', ?)").run(
    new Date(0).toISOString()
  )
  db.close()
  const server = start(t, ['server', '--data-dir', dir], {
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  })

  t.equal(await server.exit, 78)
  t.match(server.output(), /startup\.schema_version_too_new: rules: the database has schema 99/)
  t.ok(migrationsOf(dir).includes('rules/0099-later'))
})
