// Group commit on PostgreSQL: several changes share a transaction, and each keeps its guarantees.
import type { EntityManager } from '@mikro-orm/sql'
import t, { type Test } from 'tap'
import { User } from '../../kernel/identity/entities.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { type Database, openStore } from '../../kernel/store/open.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { withoutReply } from '../../kernel/store/without-reply.ts'
import { runAsPayer } from '../support/store.ts'
import { makeCluster } from './cluster.ts'
import { emptyDatabase } from './empty-database.ts'
import { proxyTo } from './proxy.ts'

const userOf = (id: string): User => ({
  id,
  displayName: 'Ann',
  role: 'user',
  disabled: false,
  kind: 'user',
  createdAt: 1
})
const adding = (id: string) => (em: EntityManager) => em.insert(User, userOf(id))

async function opened(t: Test, place?: PostgresPlace) {
  const at = place ?? (await emptyDatabase(t))
  const store = await openStore(at, [kernelStore])
  t.teardown(store.close)
  const ids = async () => {
    const rows = await store.read(em => em.find(User, {}, { orderBy: { id: 'asc' } }))
    return rows.map(({ id }) => id)
  }
  return { store, at, ids }
}

/** Runs changes in one group: a first change ends when all of them wait. Resolves when all have ended. */
async function together<T>(store: Database, works: readonly ((em: EntityManager) => Promise<T>)[]) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = store.change(() => promise)
  const all = works.map(work => store.change(work))
  resolve()
  const [, ...results] = await Promise.allSettled([first, ...all])
  return results as PromiseSettledResult<T>[]
}

const transactionOf = async (em: EntityManager): Promise<string> => {
  const [row] = await em.execute<{ id: string }[]>('select pg_current_xact_id()::text as id')
  return row?.id ?? ''
}

/** Returns the result of a statement with a parameter, which is a prepared statement. */
const prepared = (em: EntityManager) =>
  em.execute<{ text: string }[]>('select statement as text from pg_prepared_statements where name <> ?', [''])

t.test('waiting and arriving changes share one transaction, at most 8 at a time', async t => {
  const { store } = await opened(t)

  const results = await together(
    store,
    Array.from({ length: 20 }, () => transactionOf)
  )

  const numbers = results.map(result => (result.status === 'fulfilled' ? result.value : null))
  t.same(
    [...Map.groupBy(numbers, number => number).values()].map(({ length }) => length),
    [7, 8, 5] // the first ones arrived during another transaction
  )
})

t.test('a failed change is rolled back alone, and its caller gets its own error', async t => {
  const { store, ids } = await opened(t)

  const results = await together<unknown>(store, [
    adding('ann'),
    async em => {
      await em.insert(User, userOf('bob'))
      throw new Error('no')
    },
    async () => {
      throw new Error('nothing was asked')
    },
    async em => {
      await em.insert(User, userOf('carl'))
      await em.insert(User, userOf('ann'))
    },
    async em => {
      await em.insert(User, userOf('dora'))
      await em.insert(User, userOf('ann')).catch(() => {})
    },
    async em => {
      await em.insert(User, userOf('eve'))
      await em.transactional(inner => inner.insert(User, userOf('ann'))).catch(() => {})
      await em.transactional(inner => inner.insert(User, userOf('fred')))
    },
    async em => {
      await em.insert(User, userOf('ann')).catch(() => {})
      await em.transactional(inner => inner.insert(User, userOf('gina')))
    },
    adding('hans')
  ])

  const reasons = results.map(result => (result.status === 'rejected' ? String(result.reason) : null))
  t.match(reasons, [
    null,
    'Error: no',
    'Error: nothing was asked',
    /duplicate key/,
    /a statement of the change failed before/,
    null,
    /aborted|savepoint/,
    null
  ])
  t.same(await ids(), ['ann', 'eve', 'fred', 'hans'])
})

t.test('a failed unawaited statement does not fail other changes', async t => {
  const { store, ids } = await opened(t)

  const results = await together<unknown>(store, [
    adding('ann'),
    async em => void em.insert(User, userOf('ann')).catch(() => {}),
    adding('bob')
  ])

  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled']
  )
  t.same(await ids(), ['ann', 'bob'])
})

t.test('a payer with many waiting changes delays the change of another by one', async t => {
  const { store } = await opened(t)
  const order: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const changing = [store.change(() => promise)]
  const change = (payer: string) => {
    const made = runAsPayer(payer, () => store.change(async () => void order.push(payer)))
    changing.push(made)
  }

  for (const payer of ['noisy', 'noisy', 'noisy', 'quiet']) change(payer)
  resolve()
  await Promise.all(changing)

  t.same(order, ['noisy', 'quiet', 'noisy', 'noisy'])
})

t.test(
  'a read waits for the changes of its payer and of the server, and not for those of others',
  async t => {
    const { store, ids } = await opened(t)
    const { promise, resolve } = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const changing = runAsPayer('noisy', () =>
      store.change(async em => {
        await em.insert(User, userOf('ann'))
        begun.resolve()
        await promise
      })
    )
    await begun.promise

    const own = runAsPayer('noisy', ids)
    const ofServer = ids()
    t.same(await runAsPayer('quiet', ids), [])
    resolve()
    await changing
    t.same(await own, ['ann'])
    t.same(await ofServer, ['ann'])
  }
)

t.test('after a conflict each change of the group runs again, and is stored once', async t => {
  const { store, at, ids } = await opened(t)
  await store.change(adding('ann'))
  const runs: string[] = []

  const results = await together<unknown>(store, [
    em => {
      runs.push('bob')
      return em.insert(User, userOf('bob'))
    },
    async em => {
      runs.push('ann')
      const seen = await em.findOne(User, { id: 'ann' })
      if (runs.length === 2)
        await runAt(at, [`update kernel_user set display_name = 'other' where id = 'ann'`])
      await em.nativeUpdate(User, { id: 'ann' }, { displayName: `${seen?.displayName}, mine` })
    },
    em => {
      runs.push('carl')
      return em.insert(User, userOf('carl'))
    }
  ])

  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled']
  )
  t.same(runs, ['bob', 'ann', 'bob', 'ann', 'carl'])
  t.same(await ids(), ['ann', 'bob', 'carl'])
  t.equal((await store.read(em => em.findOne(User, { id: 'ann' })))?.displayName, 'other, mine')
})

t.test('a conflict counts even if the change swallows the error', async t => {
  const { store, at } = await opened(t)
  await store.change(adding('ann'))
  let runs = 0

  await store.change(async em => {
    await em.findOne(User, { id: 'ann' })
    if (runs++ === 0) await runAt(at, [`update kernel_user set display_name = 'other'`])
    await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'mine' }).catch(() => {})
  })

  t.equal(runs, 2)
  t.equal((await store.read(em => em.findOne(User, { id: 'ann' })))?.displayName, 'mine')
})

t.test(
  'no change is answered before its group commits; without an answer the outcome is unknown',
  async t => {
    const proxy = await proxyTo(t, await emptyDatabase(t))
    const { store, ids } = await opened(t, proxy.place)
    proxy.cutAt('commit')

    const results = await together(store, ['ann', 'bob', 'carl'].map(adding))

    for (const result of results)
      t.match(result, { status: 'rejected', reason: { errorCode: { code: 'store_outcome_unknown' } } })
    t.same(await ids(), ['ann', 'bob', 'carl'])
    await store.change(adding('dora'))
  }
)

t.test('an answered change survives a kill of PostgreSQL', async t => {
  const cluster = await makeCluster()
  t.teardown(cluster.remove)
  cluster.start()
  await runAt(cluster.at('postgres'), ['create database sluice'])
  const { store, ids } = await opened(t, cluster.at('sluice'))
  const answered: string[] = []

  await Promise.allSettled(
    Array.from({ length: 200 }, async (_, at) => {
      const id = `user${at}`
      await store.change(adding(id))
      answered.push(id)
      if (answered.length === 50) cluster.kill()
    })
  )
  cluster.start()

  t.ok(answered.length >= 50 && answered.length < 200, `${answered.length} answered`)
  const found = new Set(await ids())
  t.same(
    answered.filter(id => !found.has(id)),
    []
  )
})

t.test('when the database does not answer, all pending changes are refused together', async t => {
  const proxy = await proxyTo(t, await emptyDatabase(t))
  const { store } = await opened(t, proxy.place)
  proxy.beSilent()
  const before = performance.now()

  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, at) => store.change(adding(`user${at}`)))
  )

  for (const result of results)
    t.match(result, { status: 'rejected', reason: { errorCode: { code: 'store_unavailable', http: 503 } } })
  t.ok(
    performance.now() - before < 15_000,
    'a connection times out after 5 s; one group of 8 after another would take 35 s'
  )
})

t.test('an unawaited statement fails only its own change', async t => {
  const { store, ids } = await opened(t)
  const runs: string[] = []
  const work = (id: string, added: string) => async (em: EntityManager) => {
    runs.push(id)
    await em.insert(User, userOf(added), withoutReply(em))
    return id
  }

  const results = await together(store, [
    work('first', 'ann'),
    work('same', 'ann'),
    work('next', 'bob'),
    async em => {
      await em.insert(User, userOf('carl'), withoutReply(em))
      throw new Error('no')
    }
  ])

  t.match(
    results.map(result => (result.status === 'fulfilled' ? result.value : String(result.reason))),
    ['first', /duplicate key/, 'next', 'Error: no']
  )
  t.same(runs.slice(-3), ['first', 'same', 'next'], 'each runs again, alone')
  t.same(await ids(), ['ann', 'bob'])
  await t.rejects(store.change(work('alone', 'ann')), /duplicate key/)
})

t.test('a conflict in an unawaited statement makes the change run again', async t => {
  const { store, at } = await opened(t)
  await store.change(adding('ann'))
  let runs = 0

  await store.change(async em => {
    const seen = await em.findOne(User, { id: 'ann' })
    if (runs++ === 0) await runAt(at, [`update kernel_user set display_name = 'other'`])
    await em.nativeUpdate(
      User,
      { id: 'ann' },
      { displayName: `${seen?.displayName}, mine` },
      withoutReply(em)
    )
  })

  t.equal(runs, 2)
  t.equal((await store.read(em => em.findOne(User, { id: 'ann' })))?.displayName, 'other, mine')
})

t.test(
  'the outcome of a change is unknown if neither its last statement nor its commit is answered',
  async t => {
    const proxy = await proxyTo(t, await emptyDatabase(t))
    const { store, ids } = await opened(t, proxy.place)
    proxy.cutAt('commit')

    const [result] = await Promise.allSettled([
      store.change(em => em.insert(User, userOf('ann'), withoutReply(em)))
    ])

    t.match(result, { status: 'rejected', reason: { errorCode: { code: 'store_outcome_unknown' } } })

    t.same(await ids(), ['ann'])
  }
)

t.test('concurrent statements of a change are one message; its begin and end need none', async t => {
  const proxy = await proxyTo(t, await emptyDatabase(t))
  const { store } = await opened(t, proxy.place)
  const ask = (em: EntityManager) => em.find(User, { id: 'ann' })
  await store.change(ask)
  const before = proxy.received()

  await store.change(async em => {
    await Promise.all([ask(em), ask(em), ask(em)])
    await ask(em)
    await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'Bea' }, withoutReply(em))
  })

  t.equal(proxy.received() - before, 4, 'three statements, a fourth, the unanswered ones, and the commit')
})

t.test('a statement is prepared once, and a connection caches 500', async t => {
  const { store } = await opened(t)
  const find = (em: EntityManager) => em.find(User, { id: 'ann' })
  await store.change(find)
  await store.change(find)

  const [once, most] = await store.change(async em => {
    const once = await prepared(em)
    for (let at = 0; at < 600; at++) await em.execute(`select ${at} as one where 'x' = ?`, ['x'])
    return [once, await prepared(em)]
  })

  t.equal(once.filter(({ text }) => text.includes('"kernel_user"')).length, 1)
  t.equal(most.length, 500)
})

t.test('a name means the same statement on all connections, because a pooler shares them', async t => {
  const texts = [1, 2, 3].map(at => `select ${at} as one where 'x' = ?`)
  const askedIn = async (order: readonly string[]) => {
    const { store } = await opened(t)
    return store.change(async em => {
      for (const text of order) await em.execute(text, ['x'])
      return em.execute(
        'select name, statement from pg_prepared_statements where statement like ? order by name',
        [`select _ as one%`]
      )
    })
  }

  const found = await askedIn(texts)

  t.equal(found.length, texts.length)
  t.same(await askedIn(texts.toReversed()), found)
})

t.test('changes succeed behind a pooler that has lost a prepared statement', async t => {
  const { store, ids } = await opened(t)
  await store.change(adding('ann'))
  await store.change(em => em.execute('deallocate all'))

  await store.change(adding('bob'))

  t.same(await ids(), ['ann', 'bob'])
  t.same(await store.change(prepared), [], 'none are prepared from then on')
})
