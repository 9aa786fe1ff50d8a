import t from 'tap'
import { openQueues } from '../../agent/state/queues.ts'
import { openStateDatabase } from '../../agent/state/state-database.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../kit/test-server.ts'

const texts = (items: readonly { readonly item: string }[]) => items.map(({ item }) => item)

t.test('items stay in order, also in the next process, until they are removed', async t => {
  const dir = t.testdir()
  const db = openStateDatabase(dir, 'normal')
  const queue = openQueues({ db, clock: fakeClock(), log: recordLog([]) }).open('one')
  for (const item of ['a', 'b', 'c']) queue.push(item)
  await Promise.resolve()
  db.close()

  const next = openStateDatabase(dir, 'normal')
  t.teardown(() => next.close())
  const queues = openQueues({ db: next, clock: fakeClock(), log: recordLog([]) })
  const again = queues.open('one')
  t.strictSame(texts(again.first(2)), ['a', 'b'])
  again.removeUntil(again.first(2).at(-1)?.seq ?? 0)
  again.push('d')
  t.strictSame(texts(again.first(9)), ['c', 'd'])
  t.strictSame(queues.open('other').first(9), [])
  t.equal(queues.open('one'), again)
})

t.test('beyond 10,000 items the oldest are dropped', async t => {
  const db = openStateDatabase(t.testdir(), 'normal')
  t.teardown(() => db.close())
  const queue = openQueues({ db, clock: fakeClock(), log: recordLog([]) }).open('one')

  for (let i = 0; i < 10_003; i++) queue.push(String(i))

  t.strictSame(texts(queue.first(1)), ['3'])
  t.equal(queue.first(20_000).length, 10_000)
})

t.test('a share that fills the queue loses its own items, in this process and the next', async t => {
  const dir = t.testdir()
  const db = openStateDatabase(dir, 'normal')
  const queue = openQueues({ db, clock: fakeClock(), log: recordLog([]) }).open('one')
  queue.push('of bob', 'bob')
  for (let i = 0; i < 10_500; i++) queue.push(String(i), 'ann')
  t.strictSame(texts(queue.first(2)), ['of bob', '501'])
  db.close()

  const next = openStateDatabase(dir, 'normal')
  t.teardown(() => next.close())
  const again = openQueues({ db: next, clock: fakeClock(), log: recordLog([]) }).open('one')
  for (let i = 0; i < 10_500; i++) again.push(String(i), 'ann')

  t.strictSame(texts(again.first(2)), ['of bob', '501'])
  t.equal(again.first(20_000).length, 10_000)
  again.removeUntil(again.first(1).at(0)?.seq ?? 0)
  again.push('next', 'ann')
  t.equal(again.first(20_000).length, 10_000)
})

t.test('a queue from before shares keeps its items', async t => {
  const db = openStateDatabase(t.testdir(), 'normal')
  t.teardown(() => db.close())
  db.exec(`create table queue_item (
    seq integer primary key autoincrement, queue text not null, item text not null) strict;
    insert into queue_item (queue, item) values ('one', 'a')`)

  const queue = openQueues({ db, clock: fakeClock(), log: recordLog([]) }).open('one')
  queue.push('b', 'ann')

  t.strictSame(texts(queue.first(9)), ['a', 'b'])
})

t.test('a failed write is logged and retried with the next push', async t => {
  const db = openStateDatabase(t.testdir(), 'normal')
  t.teardown(() => db.close())
  const log: LogLine[] = []
  const queue = openQueues({ db, clock: fakeClock(), log: recordLog(log) }).open('one')
  db.exec('begin') // as if the disk were full: no transaction begins

  queue.push('a')
  await Promise.resolve()
  t.match(log, [{ event: 'agent.queue_not_written', fields: { queue: 'one' } }])
  db.exec('rollback')
  queue.push('b')

  t.strictSame(texts(queue.first(9)), ['a', 'b'])
})
