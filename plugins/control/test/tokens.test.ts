import t from 'tap'
import { SpentToken } from '../../../kernel/identity/entities.ts'
import { testServer } from '../../../kit/test-server.ts'

const dayMs = 24 * 3_600_000

t.test('spent tokens older than 400 days are deleted at a start and daily', async t => {
  const first = await testServer(t, { plugins: [] })
  const ages = { just: 0, days399: 399 * dayMs, days400: 400 * dayMs, older: 400 * dayMs + 1 }
  const spent = Object.entries(ages).map(([hash, ageMs]) => ({
    hash,
    clientId: 'edge',
    spentAt: first.clock.now() - ageMs
  }))
  await first.server.depsOf('control').store.change(em => em.insertMany(SpentToken, spent))
  await first.stop()

  const { server, clock } = await testServer(t, { plugins: [], dir: first.dir, clock: first.clock })
  const { store } = server.depsOf('control')
  const kept = async () => {
    await store.change(async () => {}) // waits for earlier changes: there is one writer
    const rows = await store.read(em => em.findAll(SpentToken, { orderBy: { spentAt: 'desc' } }))
    return rows.map(({ hash }) => hash)
  }

  t.same(await kept(), ['just', 'days399', 'days400'])
  await clock.advance(dayMs)
  t.same(await kept(), ['just', 'days399'])
  await clock.advance(dayMs)
  t.same(await kept(), ['just'])
})
