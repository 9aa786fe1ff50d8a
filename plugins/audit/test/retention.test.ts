import t from 'tap'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { AuditLog } from '../audit-log.ts'
import { Entry } from '../entities.ts'
import { auditFixture } from './fixture.ts'

type Deps = Kernel & { readonly auditLog: AuditLog }

const dayMs = 24 * 3_600_000
const blank = { authMethod: 'none', method: 'GET', path: '/', action: 'x', requestId: '', count: 1 } as const

t.test('entries are deleted after audit_retention_days', async t => {
  const { server, entries, clock } = await auditFixture(t, { keys: { audit_retention_days: 2 } })
  const { store, auditLog } = server.depsOf('audit') as Deps
  await store.change(async em => {
    for (const [id, age] of [
      ['OLD', 2 * dayMs + 1],
      ['NEW', 2 * dayMs - 1]
    ] as const)
      await em.insert(Entry, {
        ...blank,
        id: id.padStart(26, '0'),
        timestamp: clock.now() - age,
        outcome: 'allow'
      })
  })

  await auditLog.tidy()

  t.same(
    (await entries()).map(({ id }) => id),
    ['NEW'.padStart(26, '0')]
  )
})

t.test(
  'setting the clock forward deletes no young entry, setting it back delays the deletion of old ones',
  async t => {
    for (const ms of [400 * dayMs, -400 * dayMs]) {
      const { server, entries, clock } = await auditFixture(t, { dir: t.testdir({}) })
      const { store, auditLog } = server.depsOf('audit') as Deps
      const entry = {
        ...blank,
        id: 'YOUNG'.padStart(26, '0'),
        timestamp: clock.now(),
        outcome: 'allow'
      } as const
      await store.change(em => em.insert(Entry, entry))

      clock.step(ms)
      await auditLog.tidy()

      t.ok(
        (await entries()).some(({ id }) => id === entry.id),
        `by ${ms} ms`
      )
    }
  }
)

t.test('beyond audit_max_rows, denials are deleted first, then the oldest entries', async t => {
  const { server, clock } = await auditFixture(t, { keys: { audit_max_rows: 1000 } })
  const { store, auditLog } = server.depsOf('audit') as Deps
  const add = (from: number, count: number, outcome: 'allow' | 'deny') =>
    store.change(async em => {
      const rows = Array.from({ length: count }, (_, i) => ({
        ...blank,
        id: String(from + i).padStart(26, '0'),
        timestamp: clock.now() - 1_000_000 + from + i,
        outcome
      }))
      await em.insertMany(Entry, rows)
    })
  const left = async () => {
    const rows = await store.read(em => em.find(Entry, {}, { orderBy: { id: 'asc' } }))
    return {
      rows: rows.length,
      denials: rows.filter(({ outcome }) => outcome === 'deny').length,
      oldest: rows[0]?.id
    }
  }
  await add(0, 900, 'allow')
  await add(900, 300, 'deny')

  await auditLog.tidy()
  t.match(await left(), { rows: 1000, denials: 100, oldest: '0'.padStart(26, '0') })

  await add(2000, 600, 'allow')
  for (let i = 0; i < 60; i++) await auditLog.tidy() // it recounts once an hour
  t.match(await left(), { rows: 1000, denials: 0, oldest: '500'.padStart(26, '0') })
})

t.test(
  'the entries of the users that have most are deleted first: nobody pushes out those of others',
  async t => {
    const { server, clock } = await auditFixture(t, { keys: { audit_max_rows: 1000 } })
    const { store, auditLog } = server.depsOf('audit') as Deps
    let rows = 0
    const add = (count: number, of: Pick<Entry, 'actor' | 'outcome'>) =>
      store.change(async em => {
        const added = Array.from({ length: count }, () => {
          const id = String(rows++).padStart(26, '0')
          return { ...blank, ...of, id, timestamp: clock.now() - 1_000_000 + rows }
        })
        await em.insertMany(Entry, added)
      })
    const left = () =>
      store.read(em =>
        em.execute(
          'select actor, outcome, count(*) as rows from audit_entry group by actor, outcome order by actor, outcome'
        )
      )
    await add(50, { actor: 'root', outcome: 'allow' })
    await add(20, { actor: 'root', outcome: 'deny' })
    await add(80, { actor: null, outcome: 'deny' })
    await add(500, { actor: 'bob', outcome: 'allow' })
    await add(30, { actor: 'ann', outcome: 'deny' })
    await add(2000, { actor: 'ann', outcome: 'allow' })

    await auditLog.tidy()

    t.same(await left(), [
      { actor: 'ann', outcome: 'allow', rows: 465 },
      { actor: 'bob', outcome: 'allow', rows: 465 },
      { actor: 'root', outcome: 'allow', rows: 50 },
      { actor: 'root', outcome: 'deny', rows: 20 }
    ])
  }
)

t.test('retention runs each minute', async t => {
  const { server, clock } = await auditFixture(t)
  const { store } = server.depsOf('audit')
  await store.change(em => em.insert(Entry, { ...blank, id: 'OLD', timestamp: 0, outcome: 'allow' }))

  await clock.advance(60_000)

  t.equal(await store.read(em => em.count(Entry, {})), 0)
})
