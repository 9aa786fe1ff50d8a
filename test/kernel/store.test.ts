import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Migration, Migrator } from '@mikro-orm/migrations'
import { MikroORM } from '@mikro-orm/sqlite'
import t from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { User } from '../../kernel/identity/entities.ts'
import { openDataDir } from '../../kernel/store/data-dir.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import { areNeighbours, type PluginStore, refuseNewer } from '../../kernel/store/sql/migrations.ts'
import { spawnChild } from '../support/child-process.ts'
import { notRepeated } from '../support/store.ts'

const allStores = async (): Promise<PluginStore[]> => [
  kernelStore,
  ...(await Promise.all(Object.values(builtin).map(async load => (await load()).default)))
]
const ann: User = { id: 'ann', displayName: 'Ann', role: 'user', disabled: false, kind: 'user', createdAt: 0 }

t.test('migrations create exactly the tables of the entities', async t => {
  const stores = await allStores()
  const dbName = join(t.testdir(), 'sluice.db')
  await (await openStore(dbName, stores)).close()

  const orm = new MikroORM({
    dbName,
    entities: stores.flatMap(({ store }) => [...(store?.entities ?? [])]),
    extensions: [Migrator],
    migrations: { tableName: 'schema_migration' }
  })
  t.teardown(() => orm.close(true))

  t.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '')
})

t.test('a database newer than this build is refused', async t => {
  const file = join(t.testdir(), 'sluice.db')
  await (await openStore(file, [kernelStore])).close()

  await t.rejects(openStore(file, [{ ...kernelStore, store: { entities: [User], migrations: [] } }]), {
    errorCode: { code: 'startup.schema_version_too_new', exit: 78 },
    message: /kernel: the database has schema 1, this build knows 0/
  })
})

t.test('a closing migration runs at once if one server uses the store, and the server logs it', async t => {
  const running = (sql: string) =>
    class extends Migration {
      override up(): void {
        this.addSql(sql)
      }
    }
  const first = {
    name: '0001-note',
    class: running('create table "acme_note" ("id" int, "old" text null)')
  }
  const second = {
    name: '0002-old',
    class: running('alter table "acme_note" drop column "old"'),
    closes: true as const
  }
  const acme = { name: 'acme', store: { entities: [], migrations: [first, second] } }
  const store = await openStore(join(t.testdir(), 'sluice.db'), [acme])
  t.teardown(store.close)

  const rows = await store.read(em => em.execute('select name from schema_migration order by name'))
  t.strictSame(rows, [{ name: 'acme/0001-note' }, { name: 'acme/0002-old+closes' }])
})

t.test('servers of two releases share a store until a closing migration', async t => {
  const old = {
    name: 'acme',
    store: { entities: [], migrations: [{ name: '0001-note', class: Migration as never }] }
  }
  const refuse = (executed: readonly string[], isShared: boolean) => () =>
    refuseNewer(executed, [old], isShared)
  const message = /acme: the database has schema \d, this build knows 1/

  t.throws(refuse(['acme/0001-note', 'acme/0002-new'], false), { message })
  t.doesNotThrow(refuse(['acme/0001-note', 'acme/0002-new'], true))
  t.throws(refuse(['acme/0001-note', 'acme/0002-new', 'acme/0003-old+closes'], true), { message })
  t.same(
    ['2.0.0', '2.1.0-rc.1', '2.1.7', '2.2.0', '3.0.0', 'none'].filter(other => areNeighbours('2.0.9', other)),
    ['2.0.0', '2.1.0-rc.1', '2.1.7']
  )
})

t.test('a change is rolled back when it throws, and committed otherwise', async t => {
  const store = await openStore(join(t.testdir(), 'sluice.db'), [kernelStore])
  t.teardown(store.close)

  await t.rejects(
    store.change(async em => {
      await em.insert(User, ann)
      throw new Error('no')
    }),
    { message: 'no' }
  )

  t.equal(await store.read(em => em.count(User)), 0)
  await store.change(em => em.insert(User, ann))
  t.equal(await store.read(em => em.count(User)), 1)
})

t.test(
  'a transaction does not see uncommitted writes of another',
  { skip: notRepeated('it checks when its bodies run') },
  async t => {
    const store = await openStore(join(t.testdir(), 'sluice.db'), [kernelStore])
    t.teardown(store.close)
    const order: string[] = []

    const count = (name: string) =>
      store.change(async em => {
        order.push(`${name} in`)
        const seen = await em.count(User)
        await em.insert(User, { ...ann, id: name })
        order.push(`${name} out`)
        return seen
      })

    t.same(await Promise.all([count('a'), count('b'), count('c')]), [0, 1, 2])
    t.same(order, ['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
  }
)

t.test('one process owns a data directory, and a kill releases it', async t => {
  const dir = join(t.testdir(), 'data')
  const module = join(import.meta.dirname, '../../kernel/store/data-dir.ts')
  const holder = spawnChild(process.execPath, [
    '--input-type=module',
    '-e',
    `const { openDataDir } = await import('${module}'); openDataDir('${dir}', release => { globalThis.release = release }); console.log('open'); setInterval(() => {}, 1e6)`
  ])
  t.teardown(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')

  t.throws(() => openDataDir(dir, () => {}), {
    errorCode: { code: 'startup.store_in_use', exit: 75 },
    message: /stop it/
  })
  holder.kill('SIGKILL')
  await once(holder, 'exit')

  openDataDir(dir, release => t.teardown(release))
  t.equal(statSync(dir).mode & 0o777, 0o700)
})
