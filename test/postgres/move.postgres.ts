// Copying a store: everything is copied and compared, and a failed or killed move leaves nothing behind.
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { inDependencyOrder } from '../../kernel/dependency-order.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import type { Place, PostgresPlace } from '../../kernel/store/sql/database.ts'
import { type Move, moveStore } from '../../plugins/backup/move/move.ts'
import { spawnChild } from '../support/child-process.ts'
import { connectTo, emptyDatabase, onEachRow } from './empty-database.ts'

const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const storesOf = (loaded: readonly Plugin[]) => [kernelStore, ...inDependencyOrder(loaded)]
const stores = storesOf(plugins)
const withoutBans = storesOf(plugins.filter(({ name }) => name !== 'bans'))

const move = (from: Place, to: Place, more: Partial<Move> = {}) =>
  moveStore({
    from,
    to,
    stores,
    version: ownVersion(),
    leftBehind: [],
    progress: () => {},
    dataDir: dirname([from, to].find(place => typeof place === 'string') ?? ''),
    ...more
  })

/** Rows with values that the databases store in different ways. */
const odd = [
  `insert into kernel_store_value values ('generation', '0123'), ('leaf', 'é ''"\\ ' || char(127, 10, 128225)), ('empty', '')`,
  `insert into kernel_user (id, display_name, role, disabled, created_at) values ('ann', 'Ann', 'user', 0, 1), ('bob', 'Bob', 'superadmin', 1, ${Number.MAX_SAFE_INTEGER})`,
  `insert into kernel_client (id, name, capabilities, revision, enrolled_at)
    values ('Z', 'upper', '{"b": 1,  "a": "\\u0000"}', 7, 1), ('a', 'lower', null, 8, 1), ('é', 'last', '[]', 9, 1)`,
  `insert into grants (id, user_id, port_from, port_to, protocols, targets, created_at)
    values ('g', 'ann', 1, 2, '["tcp"]', '5', 1), ('h', 'ann', 1, 2, '"tcp"', '0.5', -1)`,
  `insert into rules (id, client_id, owner, protocol, listen_from, listen_to, targets, prefer_ipv6, fields, state,
    created_at, updated_at, state_changed_at) values ('r', 'a', 'ann', 'tcp', 1, 1, '[]', 1, '{}', 'active', 1, 1, 1)`,
  `insert into rules_field_value values ('r', 'amplification', '{"ratio": 3,  "proven_after": 4}'),
    ('r', 'proxy_out_udp', '"each"'), ('r', 'slow_start_secs', '60'), ('r', 'sni_fallback', 'true')`,
  `insert into traffic_series (id, user_id, client_id) values (1, 'ann', 'a'), (2, 'bob', 'a'), (7, 'gone', 'a')`,
  `delete from traffic_series where id = 7`
]

/** Makes a SQLite store with rows, migrated by every plugin. */
async function fullStore(t: Test, more: readonly string[] = []): Promise<{ file: string; dir: string }> {
  const dir = t.testdir()
  chmodSync(dir, 0o700)
  const file = join(dir, 'sluice.db')
  await (await openStore(file, stores)).close()
  inFile(file, ...odd, ...more)
  return { file, dir }
}

function inFile(file: string, ...statements: readonly string[]): void {
  const database = new Database(file)
  for (const statement of statements) database.exec(statement)
  database.close()
}

/** Returns all rows of all tables, with their SQLite types, and the last numbers of the sequences. */
function contentOf(file: string): Map<string, unknown[]> {
  const database = new Database(file)
  const names = database
    .prepare(`select name from sqlite_schema where type = 'table' and name <> 'schema_migration'`)
    .pluck()
    .all() as string[]
  const rowsOf = (name: string): unknown[] => {
    const columns = database
      .prepare(`select name from pragma_table_info('${name}')`)
      .pluck()
      .all() as string[]
    const typed = columns.map(column => `"${column}", typeof("${column}")`).join(', ')
    const where = name === 'sqlite_sequence' ? ` where name <> 'schema_migration'` : ''
    return database
      .prepare(
        `select ${typed} from "${name}"${where} order by ${columns.map((_, at) => 2 * at + 1).join(', ')}`
      )
      .raw()
      .all()
  }
  const content = new Map(names.sort().map(name => [name, rowsOf(name)]))
  database.close()
  return content
}

const tablesIn = async (t: Test, at: PostgresPlace): Promise<string[]> => {
  const { rows } = await (await connectTo(t, at)).query<{ relname: string }>(
    `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
  )
  return rows.map(({ relname }) => relname)
}

t.test('a round trip preserves each value and the next number of each table', async t => {
  const { file, dir } = await fullStore(t)
  const at = await emptyDatabase(t)
  const back = join(dir, 'back.db')
  const before = contentOf(file)

  const there = await move(file, at)
  const again = await move(at, back)

  t.same(again, there)
  t.same(contentOf(file), before, 'the old store is as it was')
  t.same(contentOf(back), before)
  t.same(readdirSync(dir).sort(), ['back.db', 'sluice.db'])
  const client = await connectTo(t, at)
  const { rows } = await client.query(
    `insert into traffic_series (user_id, client_id) values ('new', 'a') returning id`
  )
  t.equal(Number(rows[0].id), 8, 'higher than a row that is gone')
  await (await openStore(at, stores)).close()
})

t.test('a value that the other database cannot represent is named and nothing is moved', async t => {
  const cases = [
    [
      `update kernel_user set display_name = 'a' || char(0) || 'b'`,
      /kernel_user\.display_name .*"ann" is not a text/
    ],
    [`update kernel_user set created_at = 9007199254740993`, /kernel_user\.created_at .* below 2\^53/],
    [`update kernel_user set disabled = 2`, /kernel_user\.disabled .* true or false/],
    [`update kernel_user set created_at = 'soon'`, /kernel_user\.created_at/],
    [`alter table kernel_user add column more text`, /kernel_user .*more is only in one/],
    [`drop table traffic_sample`, /traffic_sample/],
    [
      `delete from schema_migration where name = 'schedule/0001-schedule'`,
      /has not had the migration schedule\/0001-schedule: start/
    ]
  ] as const
  const at = await emptyDatabase(t)
  for (const [statement, words] of cases)
    await t.test(statement, async t => {
      const { file } = await fullStore(t, [statement])

      await t.rejects(move(file, at), { errorCode: { code: 'store_not_movable', exit: 78 }, message: words })
      t.same(await tablesIn(t, at), [])
    })
})

t.test('a store of a newer sluice is refused', async t => {
  const { file } = await fullStore(t, [`insert into kernel_store_value values ('newest_version', '99.0.0')`])

  await t.rejects(move(file, await emptyDatabase(t)), { message: /sluice 99\.0\.0 has opened the store/ })
})

t.test('tables of plugins that are not loaded stay behind only if they are named', async t => {
  const { file } = await fullStore(t, ['create table notes (id text primary key)'])
  const at = await emptyDatabase(t)
  const refused = { errorCode: { code: 'store_not_movable' }, message: /no plugin that is loaded/ }

  await t.rejects(move(file, at, { stores: withoutBans }), {
    ...refused,
    message: /bans_ban, bans_policy of bans; notes\. Enable .*--leave-behind bans notes/
  })
  await t.rejects(move(file, at, { stores: withoutBans, leftBehind: ['bans'] }), refused)
  t.same(await tablesIn(t, at), [])
  await move(file, at, { stores: withoutBans, leftBehind: ['notes', 'bans'] })

  const found = await tablesIn(t, at)
  t.notOk(found.includes('bans_ban') || found.includes('notes'))
  await (await openStore(at, stores)).close()
  t.ok((await tablesIn(t, at)).includes('bans_ban'), 'the plugin starts with empty tables')
})

t.test('foreign tables in the database stay, and one with a name of ours is refused', async t => {
  const { file } = await fullStore(t)
  const mixed = await emptyDatabase(t)
  const taken = await emptyDatabase(t)
  await (await connectTo(t, mixed)).query('create table invoices (id uuid)')
  await (await connectTo(t, taken)).query('create table rules (id uuid)')

  await t.rejects(move(file, taken), { errorCode: { code: 'store_target_not_empty' }, message: /\(rules\)/ })
  await move(file, mixed)

  t.ok((await tablesIn(t, mixed)).includes('invoices'))
})

t.test('a copy that differs is discarded', async t => {
  const { file } = await fullStore(t)
  for (const body of [
    `new.display_name := new.display_name || '!';`,
    `if new.id = 'bob' then return null; end if;`
  ]) {
    const at = await emptyDatabase(t)
    await (await connectTo(t, at)).query(onEachRow('kernel_user', body))

    await t.rejects(move(file, at), {
      errorCode: { code: 'store_copy_differs', exit: 1 },
      message: /kernel_user is not the same in both: 2 rows, SHA-256 .* but [12] rows/
    })
    t.same(await tablesIn(t, at), [])
  }
})

t.test('a killed move leaves no store, and a second attempt succeeds', { timeout: 120_000 }, async t => {
  const { file, dir } = await fullStore(t)
  const at = await emptyDatabase(t)
  const client = await connectTo(t, at)
  await client.query(onEachRow('traffic_series', 'perform pg_advisory_xact_lock(4);'))
  await client.query('select pg_advisory_lock(4)')
  const program = join(import.meta.dirname, '..', '..', 'kernel', 'bin.ts')
  const child = spawnChild(process.execPath, [program, 'store', 'migrate', '--to', at.url, '--data-dir', dir])
  t.teardown(() => child.kill('SIGKILL'))
  const waits = async (): Promise<boolean> => {
    const { rows } = await client.query(`select 1 from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`)
    return rows.length > 0
  }
  while (!(await waits())) if (child.exitCode !== null) throw new Error('it has ended')
  child.kill('SIGKILL')
  await once(child, 'exit')

  await client.query('select pg_advisory_unlock(4)')
  await client.query('drop event trigger on_table')
  const moved = await move(file, at)

  t.equal(moved.find(({ table }) => table === 'traffic_series')?.rows, 2)
})

t.test('a killed move to a file leaves a draft, which the next move replaces', async t => {
  const { file, dir } = await fullStore(t)
  const at = await emptyDatabase(t)
  const back = join(dir, 'back.db')
  await move(file, at)
  for (const ending of ['', '-wal']) inFile(`${back}.moving${ending}`, 'create table half (id text)')

  await move(at, back)

  t.same(contentOf(back), contentOf(file))
  t.same(readdirSync(dir).sort(), ['back.db', 'sluice.db'])
})

t.test('a damaged store is refused with an explanation, and nothing is stored', async t => {
  const { file } = await fullStore(t)
  const at = await emptyDatabase(t)
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(7, 8192))

  await t.rejects(move(file, at), {
    errorCode: { code: 'store_unavailable', exit: 6 },
    message: /the store was not moved: .*malformed.* --to has nothing of it/
  })
  t.same(await tablesIn(t, at), [])
})

t.test('pages of large rows are small, and no row is left out', async t => {
  const large = `insert into source_filter_list
    with recursive n(value) as (select 1 union all select value + 1 from n where value < 5)
    select 'list' || value, hex(zeroblob(3000000)), 1, 1, 1 from n`
  const many = `insert into audit_entry (id, timestamp, auth_method, method, path, action, outcome, request_id, count)
    with recursive n(value) as (select 1 union all select value + 1 from n where value < 20000)
    select 'e' || value, value, 'token', 'GET', '/', 'x', 'allow', 'r', 1 from n`
  const { file, dir } = await fullStore(t, [large, many])
  const at = await emptyDatabase(t)
  const back = join(dir, 'back.db')

  await move(file, at)
  await move(at, back)

  t.same(contentOf(back).get('audit_entry')?.length, 20_000)
  t.same(contentOf(back), contentOf(file))
})
