// The store on PostgreSQL: its guarantees, and what its connections do when they break.
import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { raw } from '@mikro-orm/sql'
import pg from 'pg'
import { parse } from 'smol-toml'
import t, { type Test } from 'tap'
import { Client, User } from '../../kernel/identity/entities.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import { abandon } from '../../kernel/store/postgres/abandon.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { Group } from '../../kernel/store/postgres/transaction.ts'
import { type PostgresPlace, readPlace } from '../../kernel/store/sql/database.ts'
import { openTestStore } from '../../kit/test-store.ts'
import { proxyTo } from './proxy.ts'

const userOf = (id: string): User => ({
  id,
  displayName: 'Ann',
  role: 'user',
  disabled: false,
  kind: 'user',
  createdAt: 1
})
const clientOf = (id: string, more: Partial<Client> = {}) => ({
  id,
  name: id,
  revision: 0,
  enrolledAt: 1,
  ...more
})

async function databaseOf(t: Test): Promise<PostgresPlace> {
  const database = await openTestStore(t.testdir(), 'empty')
  if (!database) throw new Error('run it by npm run test:postgres')
  t.teardown(database.drop)
  return database.place
}

async function opened(t: Test, place?: PostgresPlace) {
  const at = place ?? (await databaseOf(t))
  const store = await openStore(at, [kernelStore])
  t.teardown(store.close)
  const countUsers = () => store.read(em => em.count(User))
  const nameOf = async (id: string) => (await store.read(em => em.findOne(User, { id })))?.displayName
  return { store, at, countUsers, nameOf }
}

/** Ends all connections of sluice to a database. */
const cutAll = (at: PostgresPlace) => runAt(at, [cut])
const cut = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

t.test('a change that throws is rolled back; if only a nested part throws, only that part is', async t => {
  const { store, countUsers } = await opened(t)

  await t.rejects(
    store.change(async em => {
      await em.insert(User, userOf('ann'))
      throw new Error('no')
    }),
    { message: 'no' }
  )
  await store.change(async em => {
    await em.insert(User, userOf('bob'))
    await em
      .transactional(async inner => {
        await inner.insert(User, userOf('carl'))
        await inner.insert(User, userOf('carl'))
      })
      .catch(() => {})
    await em.insert(User, userOf('dora'))
  })

  t.equal(await countUsers(), 2)
})

t.test('changes are serialized, and each sees the ones before it', async t => {
  const { store } = await opened(t)
  const order: string[] = []

  const count = (name: string) =>
    store.change(async em => {
      order.push(`${name} in`)
      const seen = await em.count(User)
      await em.insert(User, userOf(name))
      order.push(`${name} out`)
      return seen
    })

  t.same(await Promise.all([count('a'), count('b'), count('c')]), [0, 1, 2])
  t.same(order, ['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
})

t.test('rows come back unchanged: names in byte order, null first, and lists of values', async t => {
  const { store } = await opened(t)
  const names = ['a', 'B', 'ä', 'b', 'A', 'a b', 'a-b']
  await store.change(async em => {
    for (const name of names)
      await em.insert(Client, clientOf(name, { connectedAt: name === 'b' ? 5 : null }))
    await em.nativeUpdate(Client, { id: 'b' }, { capabilities: { z: '1', a: 'nul \0', ä: '2' } })
  })

  const idsOf = async (where: object, orderBy: object) =>
    (await store.read(em => em.find(Client, where, { orderBy }))).map(({ id }) => id)

  t.same(
    await idsOf({}, { name: 'asc' }),
    names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
  )
  t.same((await idsOf({}, { connectedAt: 'asc', id: 'asc' })).at(-1), 'b')
  t.same((await idsOf({}, { connectedAt: 'desc', id: 'asc' })).at(0), 'b')
  t.same(await idsOf({ id: ['ä', 'B', 'none'] }, { id: 'asc' }), ['B', 'ä'])
  t.equal((await idsOf({ id: { $nin: ['ä', 'B', 'none'] } }, { id: 'asc' })).length, 5)
  t.same(await idsOf({ enrolledAt: { $in: [1, 2 ** 40] }, connectedAt: null }, { id: 'asc' }), [
    'A',
    'B',
    'a',
    'a b',
    'a-b',
    'ä'
  ])
  const [row] = await store.read(em => em.find(Client, { id: 'b' }))
  t.equal(JSON.stringify(row?.capabilities), JSON.stringify({ z: '1', a: 'nul \0', ä: '2' }))
  t.same(
    await store
      .read(em => em.find(Client, {}, { orderBy: { id: 'asc' }, offset: 5 }))
      .then(rows => rows.length),
    2
  )
})

t.test(
  'numbers are exact to 2^53 and refused above; text with U+0000 is refused and equals nothing',
  async t => {
    const { store } = await opened(t)
    await store.change(em => em.insert(Client, clientOf('a', { revision: Number.MAX_SAFE_INTEGER })))

    t.equal((await store.read(em => em.findOne(Client, { id: 'a' })))?.revision, Number.MAX_SAFE_INTEGER)
    t.match(
      await store.read(em => em.execute('select coalesce(?, 0) as a, ? as b, ? as c', [2 ** 40, 'x', true])),
      [{ a: 2 ** 40, b: 'x', c: true }]
    )
    await store.change(em => em.execute('update kernel_client set revision = revision + 1', [], 'run'))
    await t.rejects(
      store.read(em => em.findOne(Client, { id: 'a' })),
      { message: /above 2\^53/ }
    )
    await t.rejects(
      store.change(em => em.insert(Client, clientOf('b', { name: 'b\0' }))),
      {
        errorCode: { code: 'validation.schema', http: 400 },
        message: /U\+0000/
      }
    )
    t.equal(await store.read(em => em.findOne(Client, { name: 'a\0' })), null)
    t.equal(await store.read(em => em.count(Client, { name: ['a', 'a\0'] })), 1)
    t.equal(await store.change(em => em.nativeDelete(Client, { name: 'a\0' })), 0)
  }
)

t.test('the database stops work for an abandoned connection, even if it waits for a lock', async t => {
  const { url } = await databaseOf(t)
  const holder = new pg.Client(url)
  const left = new pg.Client(url)
  await Promise.all([holder.connect(), left.connect()])
  t.teardown(() => holder.end())
  left.on('error', () => {}) // the database closes it
  const lock = 'select pg_advisory_xact_lock(1)'
  await holder.query(`begin; ${lock}`)
  left.query(lock).catch(() => {}) // never answered
  const waiting = async () =>
    (await holder.query(`select 1 from pg_locks where locktype = 'advisory' and not granted`)).rows.length
  while ((await waiting()) === 0) await wait(20)

  abandon(left)

  while ((await waiting()) > 0) await wait(20)
  t.pass('no statement waits in the database')
})

t.test(
  'a change that waits for a row does not count as committing, and ends when it is abandoned',
  async t => {
    const { url } = await databaseOf(t)
    const holder = new pg.Client(url)
    const left = new pg.Client({ connectionString: url, pipeline: true })
    await Promise.all([holder.connect(), left.connect()])
    t.teardown(() => holder.end())
    left.on('error', () => {}) // the database closes it
    await holder.query('create table note as select 1 as id')
    await holder.query('begin; update note set id = 2')
    const group = new Group(left, () => [], true) // without limits, as after a clock step
    await group.run({ text: 'update note set id = 3', values: [] }, false)
    const failed = t.rejects(group.commit(), 'no success is reported')
    const waiting = async () => (await holder.query('select 1 from pg_locks where not granted')).rows.length
    while ((await waiting()) === 0) await wait(20)

    left.connection.stream.destroy() // like the driver after its 20 s limit
    abandon(left, group.isCommitting)

    while ((await waiting()) > 0) await wait(20)
    await failed
    await holder.query('commit')
    t.match(await holder.query('select id from note'), { rows: [{ id: 2 }] })
  }
)

t.test('SQL that MikroORM generates also works', async t => {
  const { store } = await opened(t)
  await store.change(em => em.insert(Client, clientOf('a', { capabilities: { x: '1' } })))

  const rows = await store.read(em =>
    em.find(
      Client,
      { [raw('upper(name)') as unknown as string]: 'A' },
      { orderBy: { enrolledAt: 'desc' }, limit: 1 }
    )
  )

  t.match(rows, [{ id: 'a', revision: 0, capabilities: { x: '1' } }])
})

t.test('a change that conflicts runs again, and its rows are stored once', async t => {
  const { store, at, nameOf } = await opened(t)
  await store.change(em => em.insert(User, userOf('ann')))
  let runs = 0

  await store.change(async em => {
    const seen = await em.findOne(User, { id: 'ann' })
    if (runs++ < 2) await runAt(at, [`update kernel_user set display_name = 'other ${runs}'`])
    await em.nativeUpdate(User, { id: 'ann' }, { displayName: `${seen?.displayName}, mine` })
    await em.insert(User, userOf('bob'))
  })

  t.equal(runs, 3)
  t.equal(await nameOf('ann'), 'other 2, mine')
})

t.test('a change that conflicts at every attempt is refused with 503, and leaves no rows', async t => {
  const { store, at, countUsers } = await opened(t)
  await store.change(em => em.insert(User, userOf('ann')))
  let runs = 0

  await t.rejects(
    store.change(async em => {
      await em.insert(User, userOf('bob'))
      await em.findOne(User, { id: 'ann' })
      await runAt(at, [`update kernel_user set display_name = 'other ${runs++}'`])
      await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'mine' })
    }),
    {
      errorCode: { code: 'store_unavailable', http: 503 },
      details: { retry_after_secs: 2 },
      message: /again/
    }
  )

  t.equal(runs, 6)
  t.equal(await countUsers(), 1)
})

t.test('a change is refused with 503 when its connection is cut, and the next one succeeds', async t => {
  const { store, at, countUsers } = await opened(t)

  await t.rejects(
    store.change(async em => {
      await em.insert(User, userOf('ann'))
      await cutAll(at)
      await em.insert(User, userOf('bob'))
    }),
    {
      errorCode: { code: 'store_unavailable', http: 503 },
      details: { retry_after_secs: 2 },
      message: /nothing was changed/
    }
  )

  t.equal(await countUsers(), 0)
  await store.change(em => em.insert(User, userOf('carl')))
  t.equal(await countUsers(), 1)
})

t.test('a read is retried if its connection was cut while idle', async t => {
  const { at, countUsers } = await opened(t)

  await countUsers()
  execFileSync('psql', [at.url, '-c', cut], { stdio: 'ignore' }) // nothing runs in this process that could see the end of the connection

  t.equal(await countUsers(), 0)
})

t.test('a cut connection invalidates cached answers', async t => {
  const { store, at, nameOf } = await opened(t)
  await store.change(em => em.insert(User, userOf('ann')))
  const remember = store.remembered(
    [User.meta.tableName],
    async (id, em) => (await em.findOne(User, { id }))?.displayName ?? null
  )
  t.equal(await remember('ann'), 'Ann')
  await store.change(em => em.nativeUpdate(User, { id: 'ann' }, { displayName: 'Anna' }))
  t.equal(await remember('ann'), 'Anna')
  await runAt(at, [`update kernel_user set display_name = 'Other'`])
  t.equal(await remember('ann'), 'Anna')

  await cutAll(at)
  await store
    .change(em => em.insert(User, userOf('bob')))
    .catch(() => store.change(em => em.insert(User, userOf('bob'))))

  t.equal(await remember('ann'), 'Other')
  t.equal(await nameOf('bob'), 'Ann')
})

t.test(
  'a commit without an answer gives 503 with an unknown outcome, and the row shows the result',
  async t => {
    const direct = await databaseOf(t)
    const proxy = await proxyTo(t, direct)
    const { store } = await opened(t, proxy.place)

    proxy.cutAt('commit')
    await t.rejects(
      store.change(em => em.insert(User, userOf('ann'))),
      {
        errorCode: { code: 'store_outcome_unknown', http: 503 },
        message: /it is made, or not/
      }
    )

    t.equal(await store.read(em => em.count(User, { id: 'ann' })), 1)
    await store.change(em => em.insert(User, userOf('bob')))
  }
)

t.test(
  'a database that accepts connections and does not answer refuses changes and reads with 503',
  async t => {
    const proxy = await proxyTo(t, await databaseOf(t))
    const { store, countUsers } = await opened(t, proxy.place)
    const refused = (work: Promise<unknown>) =>
      t.rejects(work, {
        errorCode: { code: 'store_unavailable', http: 503 },
        details: { retry_after_secs: 2 },
        message: /nothing was changed/
      })

    proxy.beSilent()

    for (const _ of ['the connections of before', 'new ones'])
      await Promise.all([refused(store.change(em => em.insert(User, userOf('ann')))), refused(countUsers())])
  }
)

t.test(
  'a connection lost during a migration does not count as a failed migration, and the next start runs it',
  async t => {
    const proxy = await proxyTo(t, await databaseOf(t))
    proxy.cutAt('create table "kernel_user"')

    await t.rejects(openStore(proxy.place, [kernelStore]), {
      errorCode: { code: 'store_unavailable', exit: 6 },
      message: /nothing was changed/
    })

    const { countUsers } = await opened(t, proxy.place)
    t.equal(await countUsers(), 0)
  }
)

t.test('exclusive use of a database is refused while others use it; a command can still read', async t => {
  const { at } = await opened(t)

  await t.rejects(openStore(at, [kernelStore]), {
    errorCode: { code: 'startup.store_in_use', exit: 75 },
    message: /stop all of them/
  })
  const reader = await openStore(at, [])
  t.same(await reader.read(em => em.execute('select count(*) as count from kernel_user')), [{ count: 0 }])
  await reader.close()
})

t.test(
  'a start with an unusable database exits with the reason and the remedy: 78, or 6 if waiting helps',
  async t => {
    const at = await databaseOf(t)
    const other = (change: (url: URL) => void): PostgresPlace => {
      const url = new URL(at.url)
      change(url)
      return { url: url.href, password: 'a-secret' }
    }
    const unusable = { code: 'startup.store_unusable', exit: 78 }
    const refused = async (place: PostgresPlace, message: RegExp, errorCode: object = unusable) => {
      const error = await openStore(place, [kernelStore]).then(
        () => null,
        (error: unknown) => error
      )
      t.match(error, { errorCode, message })
      t.notMatch(String(error), /a-secret/)
    }

    await refused(
      other(url => (url.pathname = '/absent')),
      /create database absent owner sluice/
    )
    await refused(
      other(url => (url.port = '1')),
      /start PostgreSQL at 127\.0\.0\.1:1, or correct store_url/,
      { code: 'store_unavailable', exit: 6 } // a service manager retries
    )
    await refused(
      other(url => (url.hostname = 'db.invalid')),
      /start PostgreSQL at db\.invalid:\d+, or correct store_url/,
      { code: 'store_unavailable', exit: 6 } // DNS may be late when a host boots
    )
    await runAt(at, [
      `create role stranger login`,
      `create database latin1_${process.pid} encoding 'LATIN1' locale 'C' template template0`
    ])
    t.teardown(() => runAt(at, ['drop role stranger', `drop database latin1_${process.pid}`]))
    await refused(
      other(url => (url.username = 'stranger')),
      /grant create, usage on schema public to stranger/
    )
    await refused(
      other(url => (url.pathname = `/latin1_${process.pid}`)),
      /encoding 'UTF8' template template0/
    )
  }
)

t.test('a server runs with the database and the configuration that docs/OPERATING.md shows', async t => {
  const read = (file: string) => readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8')
  const shown = (file: string): string => {
    const [, text = ''] =
      new RegExp(`^\`\`\`\\S+ ${file}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(read('docs/OPERATING.md')) ?? []
    t.equal(text, read(file), file)
    return text
  }
  const name = `shown_${process.pid}`
  const at = await databaseOf(t)
  const made = shown('test/postgres/database.sql').replaceAll('sluice', name).split(';\n').filter(Boolean)
  await runAt(at, made)
  const dir = t.testdir({ password: 'a-secret\n' })
  chmodSync(join(dir, 'password'), 0o600)
  const keys = parse(
    shown('test/postgres/server.toml').replace('/etc/sluice/store-password', join(dir, 'password'))
  )

  const place = readPlace(keys, '')

  if (typeof place === 'string') throw new TypeError('the sample names no database')
  t.equal(place.password, 'a-secret')
  const { hostname, port } = new URL(at.url)
  const url = Object.assign(new URL(place.url), {
    hostname,
    port,
    username: name,
    pathname: `/${name}`,
    search: ''
  })
  const store = await openStore({ ...place, url: url.href }, [kernelStore])
  t.teardown(async () => {
    await store.close()
    await runAt(at, [`drop database ${name}`, `drop role ${name}`])
  })
  await store.change(em => em.insert(User, userOf('ann')))
})
