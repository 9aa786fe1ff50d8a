// When objects are reported, and how events become messages.
import t from 'tap'
import { NotifyMessage } from '../entities.ts'
import { maxMessages, maxOfOwner, pickNames } from '../messages.ts'
import { notifyFixture } from './fixture.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

t.test('events of one kind within 30 s become one message with at most 20 names and the count', async t => {
  const { clock, raise, notifications } = await notifyFixture(t)
  for (let at = 0; at < 25; at++) {
    await raise({ object: `object-${at}` })
    await clock.advance(second)
  }
  await raise({ kind: 'backup_old', object: 'backup' })
  await clock.advance(6 * second)
  await raise({ object: 'late' })

  const rows = await notifications()

  t.match(
    rows.map(({ kind, count }) => [kind, count]),
    [
      ['expires_soon', 1],
      ['backup_old', 1],
      ['expires_soon', 25]
    ],
    'newest first'
  )
  t.equal(rows[2]?.names.length, 20)
  t.equal(rows[2]?.text, `25 objects expire soon: ${rows[2]?.names.join(', ')} and 5 more`)
})

t.test('an event is reported once an hour for each object and kind', async t => {
  const { clock, raise, notifications } = await notifyFixture(t)
  await raise({ object: 'a' })
  await clock.advance(59 * minute)
  await raise({ object: 'a' })
  await raise({ object: 'a', kind: 'backup_old' })
  t.same(
    (await notifications()).map(({ kind }) => kind),
    ['backup_old', 'expires_soon']
  )

  await clock.advance(2 * minute)
  await raise({ object: 'a' })

  t.equal((await notifications()).length, 3)
})

t.test('an event with its own quiet time is reported after this time without another one', async t => {
  const { clock, deps, change, notifications } = await notifyFixture(t)
  const raise = () =>
    change(em =>
      deps.objects.raise({ kind: 'backup_old', object: 'a', name: 'a', owner: null, quietMs: 2 * hour }, em)
    )
  await raise()
  await clock.advance(hour)
  await raise()
  await clock.advance(hour + 30 * minute)
  await raise()
  t.equal((await notifications()).length, 1)

  await clock.advance(2 * hour + minute)
  await raise()

  t.equal((await notifications()).length, 2)
})

t.test('a state that ends and begins again is reported when the hour is over, if it lasts', async t => {
  const { clock, deps, change, notifications } = await notifyFixture(t)
  const about = { subject: 'rule_failed', object: 'r', name: 'r', owner: null }
  const fail = () =>
    change(em => deps.objects.observe({ ...about, state: 'failed', kind: 'rule_failed' }, em))
  const recover = () => change(em => deps.objects.observe({ ...about, state: '', kind: null }, em))
  await fail()
  for (let at = 0; at < 10; at++) {
    await clock.advance(minute)
    await recover()
    await fail()
  }
  t.equal((await notifications()).length, 1)

  await clock.advance(51 * minute)
  t.equal((await notifications()).length, 2, 'it has failed since the last report')

  await recover()
  await clock.advance(minute)
  await fail()
  await recover()
  await clock.advance(2 * hour)
  t.equal((await notifications()).length, 2, 'it is fine when the hour is over')
})

t.test('a deleted object is not reported', async t => {
  const { clock, deps, change, notifications } = await notifyFixture(t)
  const about = { subject: 'edge', object: 'c', name: 'c', owner: null }
  await change(em =>
    deps.objects.observe({ ...about, state: 'away', kind: 'edge_away', graceMs: minute }, em)
  )
  await change(em => deps.objects.forget('edge', 'c', em))
  await clock.advance(hour)
  t.same(await notifications(), [])
})

t.test('control and bidirectional characters in names become spaces, and long names are cut', async t => {
  const { raise, notifications } = await notifyFixture(t)
  await raise({ object: 'a', name: 'a\r\nBcc: b\u2028c\u202ed\u0000e' })
  await raise({ object: 'b', name: '😀'.repeat(80) })
  const [row] = await notifications()
  t.equal(row?.names[0], 'a Bcc: b c d e')
  t.equal(row?.names[1], `${'😀'.repeat(49)}…`)
})

t.test('the names of a message are taken from all owners in turn', async t => {
  const many = Array.from({ length: 20 }, (_, i) => `m${i}`)
  t.same(pickNames([many, ['a'], ['b', 'c']]).slice(0, 6), ['m0', 'a', 'b', 'm1', 'c', 'm2'])
  t.equal(pickNames([many, many]).length, 20)
})

t.test(
  'notifications are deleted after 30 days, and the oldest of an owner with more than 1,000',
  async t => {
    const { clock, deps, change } = await notifyFixture(t)
    const day = 24 * hour
    const insert = (count: number, owner: string | null, from: number, at = clock.now()) =>
      change(em =>
        em.insertMany(
          NotifyMessage,
          Array.from({ length: count }, (_, i) => ({
            id: `01${String(from + i).padStart(24, '0')}`,
            kind: 'rule_failed',
            at,
            closesAt: null,
            owner
          }))
        )
      )
    const prune = async (): Promise<void> => {
      while (await change(deps.messages.prune)) t.comment('there may be more')
    }
    const count = (where: object) => deps.store.read(em => em.count(NotifyMessage, where))
    await insert(100, 'bob', 0)
    for (let from = 0; from < 2_000; from += 500) await insert(500, 'eve', 100 + from)
    await prune()
    t.equal(await count({ owner: 'eve' }), maxOfOwner)
    t.equal(await count({ owner: 'bob' }), 100, 'the messages of others stay')

    for (let from = 0; from < 9_500; from += 500) await insert(500, null, 10_000 + from)
    await prune()
    t.equal(await count({}), maxMessages)

    await insert(2, null, 90_000, clock.now() - 30 * day + 2 * minute)
    const old = { at: { $lt: clock.now() - 29 * day } }
    await prune()
    t.equal(await count(old), 2)
    await clock.advance(3 * minute)
    await prune()
    t.equal(await count(old), 0)
  }
)

t.test('what was raised survives a restart, and nothing is raised again', async t => {
  const app = await notifyFixture(t)
  await app.raise({ object: 'a' })
  await app.stop()
  const again = await notifyFixture(t, { dir: app.dir, clock: app.clock })
  await again.raise({ object: 'a' })
  await again.raise({ object: 'b' })
  t.match(await again.notifications(), [{ count: 2, names: ['a', 'b'] }])
})
