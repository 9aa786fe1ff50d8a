import t from 'tap'
import type { Principal } from '../../../kernel/http/principal.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../../kit/test-server.ts'
import { openStoreIn } from '../../../test/support/store.ts'
import { openChangeCounter } from '../change-counter.ts'
import { ConsoleChange } from '../entities.ts'
import plugin from '../plugin.ts'

const root: Principal = { userId: 'root', role: 'superadmin', method: 'session' }
const ann: Principal = { userId: 'ann', role: 'user', method: 'session' }
const ben: Principal = { userId: 'ben', role: 'user', method: 'session' }
const eve: Principal = { userId: 'eve', role: 'user', method: 'session' }

t.test('a change on one server is a change on all servers of the store, for its audience only', async t => {
  const store = await openStoreIn(t, t.testdir(), [kernelStore, plugin])
  t.teardown(() => store.close())
  const clock = fakeClock()
  const log: LogLine[] = []
  let published = Promise.withResolvers<void>()
  const shown: Record<string, readonly string[] | 'all'> = { ann: ['paris'], ben: ['rome'], eve: 'all' }
  const shownClients = async (userId: string) => shown[userId] ?? []
  const observedStore = {
    ...store,
    change: <T>(work: Parameters<typeof store.change<T>>[0]) =>
      store.change(work).finally(() => published.resolve())
  }
  const one = openChangeCounter(
    { store: observedStore, clock, log: recordLog(log), shownClients },
    () => true
  )
  const other = openChangeCounter({ store, clock, log: recordLog(log), shownClients }, () => true)
  const seen = async (by = other) => Promise.all([root, ann, ben, eve].map(by.numberFor))
  const before = await seen()

  one.mark({ user: 'ann' })
  await clock.advance(200)
  await published.promise

  const after = await seen()
  t.same(await seen(one), after, 'every server gives the same number')
  t.same(
    after.map((number, at) => number === before[at]),
    [false, false, true, true]
  )
  t.same(log, [])
  t.same(await store.read(em => em.count(ConsoleChange)), 2)

  published = Promise.withResolvers<void>()
  one.mark({ client: 'paris' })
  await clock.advance(200)
  await published.promise

  const last = await seen()
  t.same(
    last.map((number, at) => number === after[at]),
    [false, false, true, false],
    'a change of a client is one for those who may see it'
  )
  t.same(await seen(one), last)
})
