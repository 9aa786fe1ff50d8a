// Group commit, prepared statements, rows, and the cache.
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type EntityManager, raw } from '@mikro-orm/sql'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { User } from '../../kernel/identity/entities.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import { Groups } from '../../kernel/store/sqlite/groups.ts'
import { Statements } from '../../kernel/store/sqlite/statements.ts'
import { Group } from '../../kernel/store/sqlite/transaction.ts'
import { notRepeated, runAsPayer } from '../support/store.ts'

const userOf = (id: string): User => ({
  id,
  displayName: 'Ann',
  role: 'user',
  disabled: false,
  kind: 'user',
  createdAt: 1
})

async function open(t: Test) {
  const store = await openStore(join(t.testdir(), 'sluice.db'), [kernelStore])
  t.teardown(store.close)
  const sql: string[] = []
  const run = Statements.prototype.run
  t.teardown(() => {
    Statements.prototype.run = run
  })
  Statements.prototype.run = function (query, writes) {
    sql.push(query.sql)
    return run.call(this, query, writes)
  }
  const countOf = (text: string): number => sql.filter(one => one === text).length
  const rename = (displayName: string) =>
    store.change(em => em.nativeUpdate(User, { id: 'ann' }, { displayName }))
  const nameOf = async () => (await store.read(em => em.findOne(User, { id: 'ann' })))?.displayName
  return { store, sql, countOf, rename, nameOf }
}

t.test('64 concurrent changes need two syncs, and each is on disk when acknowledged', async t => {
  const { store, countOf } = await open(t)
  const other = new SQLite(join(t.testdirName, 'sluice.db'), { readonly: true })
  t.teardown(() => other.close())
  const isCommitted = other.prepare('select count(*) from kernel_user where id = ?').pluck()

  const made = await Promise.all(
    Array.from({ length: 64 }, async (_, at) => {
      await store.change(em => em.insert(User, userOf(`user-${at}`)))
      return isCommitted.get(`user-${at}`)
    })
  )

  t.ok(made.every(count => count === 1))
  t.equal(countOf('commit'), 2)
})

/** Runs groups with instant syncs. `events` lists the events in order. */
function openGroups() {
  const statements = { inTransaction: true, run: ({ sql }: { sql: string }) => void events.push(sql) }
  const events: string[] = []
  const groups = new Groups({
    begin: () => new Group(statements as never),
    exclusively: work => Promise.resolve().then(work),
    committed() {}
  })
  const change = (name: string, work: () => void = () => {}): Promise<void> =>
    groups
      .change(async () => {
        events.push(name)
        work()
      })
      .then(() => void events.push(`${name} is answered`))
  const order = (): string[] => events.filter(one => !/^(savepoint|release) /.test(one))
  return { change, order }
}

function spendMs(ms: number): void {
  const began = performance.now()
  while (performance.now() - began < ms);
}

t.test('a change that takes longer than a sync is answered before later changes run', async t => {
  const { change, order } = openGroups()
  const later: Promise<void>[] = []

  await change('first', () => {
    later.push(change('second'))
    spendMs(20)
  })
  await Promise.all(later)

  t.same(order(), [
    'begin immediate',
    'first',
    'commit',
    'first is answered',
    'begin immediate',
    'second',
    'commit',
    'second is answered'
  ])
})

t.test('waiting changes are synced together, however long they take', async t => {
  const { change, order } = openGroups()
  const names = ['first', 'second', 'third']

  await Promise.all(names.map(name => change(name, () => spendMs(20))))

  t.same(order(), ['begin immediate', ...names, 'commit', ...names.map(name => `${name} is answered`)])
})

t.test(
  'a change waits for at most one change of each other payer, and for no sync of a later one',
  async t => {
    const { change, order } = openGroups()
    const changing: Promise<void>[] = []
    const of = (payer: string, ...names: string[]) =>
      runAsPayer(payer, () => names.forEach(name => void changing.push(change(name, () => spendMs(20)))))

    of('noisy', 'noisy 1', 'noisy 2', 'noisy 3', 'noisy 4')
    of('quiet', 'quiet 1')
    of('other', 'other 1', 'other 2')
    await Promise.all(changing)

    const answered = order().filter(name => name.endsWith('answered'))
    t.same(
      answered.map(name => name.replace(' is answered', '')),
      ['noisy 1', 'quiet 1', 'other 1', 'noisy 2', 'other 2', 'noisy 3', 'noisy 4']
    )
    t.ok(order().indexOf('quiet 1 is answered') < order().indexOf('noisy 2'))
  }
)

t.test('a short change does not wait for the second long one of another payer', async t => {
  const { change, order } = openGroups()
  const of = (payer: string, name: string, work: () => void) => runAsPayer(payer, () => change(name, work))

  await Promise.all([
    of('quiet', 'quiet', () => {}),
    ...['noisy 1', 'noisy 2', 'noisy 3'].map(name => of('noisy', name, () => spendMs(20)))
  ])

  t.ok(order().indexOf('quiet is answered') < order().indexOf('noisy 2'), order().join(', '))
})

t.test('a change of a payer that comes during a change of another is next', async t => {
  const { change, order } = openGroups()
  const changing: Promise<void>[] = []
  const of = (payer: string, name: string, work?: () => void) =>
    runAsPayer(payer, () => void changing.push(change(name, work)))

  const until = change('first', () => {
    for (const name of ['noisy 1', 'noisy 2']) of('', name)
    of('quiet', 'quiet 1')
    spendMs(20)
  })
  await until
  await Promise.all(changing)

  t.same(
    order().filter(name => name !== 'commit' && name !== 'begin immediate'),
    [
      'first',
      'first is answered',
      'quiet 1',
      'quiet 1 is answered',
      'noisy 1',
      'noisy 2',
      'noisy 1 is answered',
      'noisy 2 is answered'
    ]
  )
})

t.test('a change of a group that throws is rolled back alone', async t => {
  const { store, countOf } = await open(t)

  const [one, refused, other] = await Promise.allSettled([
    store.change(em => em.insert(User, userOf('ann'))),
    store.change(async em => {
      await em.insert(User, userOf('bob'))
      throw new Error('no')
    }),
    store.change(em => em.count(User, {}))
  ])

  t.match([one, refused, other], [{ status: 'fulfilled' }, { reason: { message: 'no' } }, { value: 1 }])
  t.equal(countOf('commit'), 1)
  t.same(
    (await store.read(em => em.find(User, {}))).map(({ id }) => id),
    ['ann']
  )
})

t.test('no change of a group is acknowledged when its commit fails', async t => {
  const { store } = await open(t)
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  const run = Statements.prototype.run
  Statements.prototype.run = function (query, writes) {
    if (query.sql === 'commit') throw full
    return run.call(this, query, writes)
  }

  const outcomes = await Promise.allSettled(
    ['ann', 'bob'].map(id => store.change(em => em.insert(User, userOf(id))))
  )

  Statements.prototype.run = run
  t.match(outcomes, [{ reason: full }, { reason: full }])
  t.equal(await store.read(em => em.count(User)), 0)
  await store.change(em => em.insert(User, userOf('ann')))
  t.equal(await store.read(em => em.count(User)), 1)
})

t.test('a read that starts during a change waits for it, and sees it', async t => {
  const { store } = await open(t)
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const change = store.change(async em => {
    await em.insert(User, userOf('ann'))
    begun.resolve()
    await go.promise
  })
  await begun.promise

  const reading = store.read(em => em.count(User))
  await setImmediate()
  go.resolve()
  await change
  t.equal(await reading, 1)
})

t.test('a read of another payer does not wait for a change in progress', async t => {
  const { store } = await open(t)
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const count = () => store.read(em => em.count(User))
  const change = runAsPayer('noisy', () =>
    store.change(async em => {
      await em.insert(User, userOf('ann'))
      begun.resolve()
      await go.promise
    })
  )
  await begun.promise

  const own = runAsPayer('noisy', count)
  t.equal(await runAsPayer('quiet', count), 0)
  go.resolve()
  await change
  t.equal(await own, 1)
})

t.test(
  "no read waits for a change that waits for another program's lock, not even the server's own",
  async t => {
    const { store } = await open(t)
    const other = new SQLite(join(t.testdirName, 'sluice.db'))
    t.teardown(() => other.close())
    other.exec('begin immediate')
    let isChanged = false
    const change = store
      .change(em => em.insert(User, userOf('ann')))
      .then(() => {
        isChanged = true
      })

    t.equal(await store.read(em => em.count(User)), 0)
    t.notOk(isChanged)
    other.exec('commit')
    await change
    t.equal(await store.read(em => em.count(User)), 1)
  }
)

t.test('a read waits for at most one group of changes, whatever its number of statements', async t => {
  const { store, countOf } = await open(t)
  const countUsers = (em: EntityManager) => em.count(User)
  let isReading = true
  const keepChanging = async (): Promise<void> => {
    while (isReading) await store.change(countUsers)
  }
  const changing = [keepChanging(), keepChanging()] // one always waits, so groups follow without a pause
  const before = countOf('commit')

  await store.read(async em => {
    for (let at = 0; at < 20; at++) await countUsers(em)
  })

  t.ok(countOf('commit') - before <= 2, `${countOf('commit') - before} groups`)
  isReading = false
  await Promise.all(changing)
})

t.test(
  'a read uses the warm cache after a write, and a separate connection during a change',
  { skip: notRepeated('it checks when its bodies run') },
  async t => {
    const { store } = await open(t)
    const ran: { readonly on: Statements; readonly what: string | undefined }[] = []
    const { run } = Statements.prototype
    Statements.prototype.run = function (query, writes) {
      ran.push({ on: this, what: /^\w+/.exec(query.sql)?.[0] })
      return run.call(this, query, writes)
    }
    const { promise: change, resolve: go } = Promise.withResolvers<void>()
    const counted = () => store.read(em => em.count(User))

    await store.change(em => em.insert(User, userOf('ann')))
    t.equal(await counted(), 1)
    const read = await store.read(async em => {
      const changing = store.change(async em => {
        await em.insert(User, userOf('bob'))
        await change
      })
      await setImmediate()
      const during = await em.count(User)
      go()
      await changing
      return [during, await em.count(User)]
    })

    t.same(read, [1, 2])
    const [writer] = ran.flatMap(({ on, what }) => (what === 'begin' ? [on] : []))
    const reads = ran.flatMap(({ on, what }) => (what === 'select' ? [on === writer] : []))
    t.same(reads, [true, false, true])
  }
)

t.test('the cache serves reads during changes', async t => {
  const { store } = await open(t)
  await store.change(em => em.insert(User, userOf('ann')))
  const nameOf = store.remembered(
    ['kernel_user'],
    async (id, em) => (await em.findOne(User, { id }))?.displayName ?? null
  )
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const change = store.change(async em => {
    await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'Bea' })
    begun.resolve()
    await go.promise
  })
  await begun.promise

  t.equal(await nameOf('ann'), 'Ann')
  go.resolve()
  await change
  t.equal(await nameOf('ann'), 'Bea')
})

t.test('a query is prepared once for any number of values', async t => {
  const { store } = await open(t)
  await store.change(em => em.insert(User, userOf('ann')))
  const prepare = SQLite.prototype.prepare
  t.teardown(() => {
    SQLite.prototype.prepare = prepare
  })
  let prepared = 0
  SQLite.prototype.prepare = function (this: SQLite.Database, sql: string) {
    prepared++
    return prepare.call(this, sql)
  } as typeof prepare

  for (let count = 1; count <= 50; count++) {
    const id = { $in: Array.from({ length: count }, (_, at) => (at === 0 ? 'ann' : `user-${at}`)) }
    t.equal((await store.read(em => em.find(User, { id, disabled: false }, { limit: count }))).length, 1)
  }

  t.equal(prepared, 1)
})

t.test('rows have the types of their properties', async t => {
  const { store } = await open(t)
  await store.change(em => em.insert(User, userOf('ann')))

  t.same(await store.read(em => em.findOne(User, { id: 'ann' })), userOf('ann'))
  t.same(
    await store.read(em => em.find(User, { disabled: false, createdAt: { $lte: 1 } }, { fields: ['role'] })),
    [{ id: 'ann', role: 'user' }]
  )
  t.same(
    await store.read(em => em.find(User, { $not: { $or: [{ id: 'ann' }, { role: 'superadmin' }] } })),
    []
  )
  t.equal(await store.read(em => em.count(User, { $and: [{}, { id: 'ann' }] })), 1)
  t.equal(await store.read(em => em.count(User, { $and: [{}] })), 1)
})

t.test('a SQL condition selects rows, alone and combined with others', async t => {
  const { store } = await open(t)
  for (const id of ['ann', 'bob', 'eve']) await store.change(em => em.insert(User, userOf(id)))
  const isBob = () => ({ [raw(alias => `${alias}.id = ?`, ['bob']) as unknown as string]: [] })
  const found = (where: object) =>
    store.read(async em => (await em.find(User, where)).map(({ id }) => id).sort())

  t.same(await found(isBob()), ['bob'])
  t.same(await found({ $and: [{ role: 'user' }, isBob()] }), ['bob'])
  t.same(await found({ id: ['ann', 'bob'], ...isBob() }), ['bob'])
  t.equal(await store.read(em => em.count(User, isBob())), 1)
  const bobFirst = [
    { [raw(alias => `${alias}.id <> 'bob'`) as unknown as string]: 'asc' },
    { id: 'asc' }
  ] as object[]
  const ordered = await store.read(em => em.find(User, {}, { orderBy: bobFirst }))
  t.same(
    ordered.map(({ id }) => id),
    ['bob', 'ann', 'eve']
  )
})

t.test('an upsert replaces a row by its key, and rows are counted by a column', async t => {
  const { store } = await open(t)
  await store.change(async em => {
    await em.upsert(User, userOf('ann'))
    await em.upsert(User, { ...userOf('ann'), displayName: 'Bea' })
    await em.upsert(User, userOf('bob'))
  })

  t.same(await store.read(em => em.findOne(User, { id: 'ann' })), { ...userOf('ann'), displayName: 'Bea' })
  t.same(await store.read(em => em.countBy(User, 'displayName', { where: { role: 'user' } })), {
    Ann: 1,
    Bea: 1
  })
})

t.test('a cached answer is read again after a commit, and within the change', async t => {
  const { store, rename } = await open(t)
  await store.change(em => em.insert(User, userOf('ann')))
  let asked = 0
  const nameOf = store.remembered(['kernel_user'], async (id, em) => {
    asked++
    return (await em.findOne(User, { id }))?.displayName ?? null
  })
  const read = () => store.read(em => nameOf('ann', em))

  t.equal(await read(), 'Ann')
  t.equal(await read(), 'Ann')
  t.equal(asked, 1)
  await rename('Bea')
  t.equal(await read(), 'Bea')
  t.equal(asked, 2)
  const within = await store.change(async em => {
    const before = await nameOf('ann', em)
    await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'Cat' })
    return [before, await nameOf('ann', em)]
  })
  t.same(within, ['Bea', 'Cat'])
  t.equal(await read(), 'Cat')
})

t.test('a change that is rolled back leaves the cache unchanged', async t => {
  const { store } = await open(t)
  await store.change(em => em.insert(User, userOf('ann')))
  const nameOf = store.remembered(
    ['kernel_user'],
    async (id, em) => (await em.findOne(User, { id }))?.displayName ?? null
  )
  await t.rejects(
    store.change(async em => {
      await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'Bea' })
      t.equal(await nameOf('ann', em), 'Bea')
      throw new Error('no')
    })
  )

  t.equal(await store.read(em => nameOf('ann', em)), 'Ann')
})

t.test('an answer that was read before a commit is not cached after it', async t => {
  const { store, rename } = await open(t)
  await store.change(em => em.insert(User, userOf('ann')))
  const go = Promise.withResolvers<void>()
  const nameOf = store.remembered(['kernel_user'], async (id, em) => {
    const found = await em.findOne(User, { id })
    await go.promise
    return found?.displayName ?? null
  })
  const early = store.read(em => nameOf('ann', em))
  await setImmediate()
  await rename('Bea')
  go.resolve()

  t.equal(await early, 'Ann')
  t.equal(await store.read(em => nameOf('ann', em)), 'Bea')
})

t.test('concurrent readers share one query, and an error is not cached', async t => {
  const { store, rename } = await open(t)
  await store.change(em => em.insert(User, userOf('ann')))
  const asked: string[] = []
  let answer = Promise.withResolvers<string | null>()
  const nameOf = store.remembered(['kernel_user'], key => {
    asked.push(key)
    return answer.promise
  })
  const next = () => {
    answer = Promise.withResolvers()
    return answer
  }

  const failing = [nameOf('ann'), nameOf('ann')]
  answer.reject(new Error('no'))
  for (const each of failing) await t.rejects(each, { message: 'no' })
  next().resolve(null)
  t.same(await Promise.all([nameOf('ann'), nameOf('ann')]), [null, null])
  next()
  const before = nameOf('ann')
  const within = store.change(em => nameOf('ann', em))
  await setImmediate()
  answer.resolve('Ann')
  t.same(await Promise.all([before, within]), ['Ann', 'Ann'])
  t.same(asked, ['ann', 'ann', 'ann', 'ann'], 'a change never waits for a read')
  await rename('Cat')
  next()
  const early = nameOf('ann')
  await rename('Bea')
  const late = nameOf('ann')
  answer.resolve('Bea')
  t.same(await Promise.all([early, late]), ['Bea', 'Bea'])
  t.equal(asked.length, 6, 'a reader after a commit gets no answer from before it')
  t.equal(await nameOf('ann'), 'Bea')
  t.equal(asked.length, 6)
})

t.test('rows deleted by a cascade are also evicted', async t => {
  const { store } = await open(t)
  await store.change(async em => {
    await em.execute('create table parent (id text primary key)')
    await em.execute(
      'create table child (id text primary key, parent text references parent on delete cascade)'
    )
    await em.execute(`insert into parent values ('p')`)
    await em.execute(
      'create table grandchild (id text primary key, child text references child on delete cascade)'
    )
    await em.execute(`insert into child values ('c', 'p')`)
    await em.execute(`insert into grandchild values ('g', 'c')`)
  })
  const rowsOf = (table: string) =>
    store.remembered([table], async (_, em) =>
      (await em.execute<unknown[]>(`select id from ${table}`)).map(String)
    )
  const children = rowsOf('child')
  const grandchildren = rowsOf('grandchild')
  t.equal((await store.read(em => children('', em))).length, 1)
  t.equal((await store.read(em => grandchildren('', em))).length, 1)

  await store.change(em => em.execute('delete from parent where id = ?', ['p'], 'run'))

  t.equal((await store.read(em => children('', em))).length, 0)
  t.equal((await store.read(em => grandchildren('', em))).length, 0)
})
