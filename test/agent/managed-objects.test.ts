import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { ManagedObjects } from '../../agent/objects/managed-objects.ts'
import { openObjectStore } from '../../agent/objects/object-store.ts'
import { type AgentCall, type AgentObject, defineObjectKind } from '../../agent/plugin.ts'
import { openStateDatabase, type StateDatabase } from '../../agent/state/state-database.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { digestOf, ObjectRemoved, ObjectStatus } from '../../kernel/wire/control.ts'
import { type Message, Refused } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { Echo } from '../support/echo.ts'
import { recordLog } from './recorded-log.ts'

const codec = openCodec([Echo])

const testObject = (revision: number, text = 'a', id = 'one'): AgentObject => ({
  kind: 'sample',
  id,
  revision,
  value: { text }
})
const removalOf = (revision: number, id = 'one') => ({ kind: 'sample', id, revision })

/** Opens managed objects. `applied`: text by id; `refused`: codes of texts that cannot be applied. */
function open(t: Test, dir = t.testdir()) {
  const clock = fakeClock()
  const applied = new Map<string, string>()
  const applies: string[] = []
  const refused = new Map<string, string>()
  const drains: (() => void)[] = []
  let holdsDrains = false
  const log = recordLog()
  const db = openStateDatabase(dir)
  t.teardown(() => db.close())
  const synced = { times: 0 }
  const counted: StateDatabase = {
    ...db,
    transaction(work) {
      synced.times++
      db.transaction(work)
    }
  }
  const withdraw = async (id: string) => {
    applied.delete(id)
    if (!holdsDrains) return { done: Promise.resolve() }
    return { done: new Promise<void>(resolve => void drains.push(resolve)) }
  }
  const objects = new ManagedObjects({
    store: openObjectStore(counted),
    kinds: () => [sampleKind({ applied, applies, refused, withdraw })],
    call: () => ({ codec }) as AgentCall, // the only member that is used
    clock,
    log
  })
  const sent: unknown[] = []
  const channel = {
    send: ({ name }: Message, body: object) => void sent.push([name, body])
  } as unknown as MessageChannel
  const holdDrains = () => {
    holdsDrains = true
  }
  return {
    objects,
    clock,
    applied,
    applies,
    refused,
    drains,
    holdDrains,
    sent,
    channel,
    db,
    dir,
    log,
    synced
  }
}

interface SampleKind {
  readonly applied: Map<string, string>
  readonly applies: string[]
  readonly refused: ReadonlyMap<string, string>
  withdraw(id: string): Promise<{ done: Promise<void> }>
}

const sampleKind = ({ applied, applies, refused, withdraw }: SampleKind) =>
  defineObjectKind({
    kind: 'sample',
    push: Echo,
    readPush: ({ text }) => ({ id: text, revision: 1 }),
    answer: id => ({ text: id }),
    async apply(id, { text }) {
      applies.push(text)
      const code = refused.get(text)
      if (code) throw new Refused(code, `${text} cannot be applied`)
      applied.set(id, text)
    },
    /** 'a:2' is the third object of group 'a'. */
    applyOrder({ text }) {
      const [, group, rank] = /^(\w+):(\d)/.exec(text) ?? []
      if (group === undefined) throw new Error('the object has no order')
      return { group, rank: Number(rank) }
    },
    withdraw
  })

const nextTurn = () => new Promise<void>(resolve => setImmediate(() => setImmediate(resolve)))

t.test('an object that was put is applied, saved, and part of the digest', async t => {
  const { objects, applied, db } = open(t)

  const result = await objects.put(testObject(3), 'once')

  t.same(result, { status: 'applied', revision: 3 })
  t.same([...applied], [['one', 'a']])
  t.equal(objects.digest(), digestOf('', [{ kind: 'sample', id: 'one', revision: 3 }]))
  t.match(db.prepare('select kind, id, revision from managed_object').all(), [
    { kind: 'sample', id: 'one', revision: 3 }
  ])
})

t.test('puts that arrive together are saved with one sync before the first is applied', async t => {
  const { objects, applies, refused, db, synced } = open(t)
  refused.set('bad', 'port_in_use')
  const ids = ['one', 'two', 'three', 'four']
  const given = ids.map((id, at) => testObject(at + 1, id === 'three' ? 'bad' : id, id))
  const saved = () => db.prepare('select id, revision from managed_object order by revision').all()

  const puts = given.map(object => objects.put(object, 'once'))
  await puts[0]
  t.equal(saved().length, 4)
  t.ok(applies.length < 4)
  const results = await Promise.all(puts)

  t.equal(synced.times, 1)
  t.match(results, [
    { status: 'applied', revision: 1 },
    { status: 'applied', revision: 2 },
    { status: 'refused', code: 'port_in_use' },
    { status: 'applied', revision: 4 }
  ])
  t.same(applies, ['one', 'two', 'bad', 'four'])
  t.match(saved(), [{ id: 'one' }, { id: 'two' }, { id: 'four' }])
})

t.test('drops that arrive together are deleted with one sync after the last is withdrawn', async t => {
  const { objects, applied, db, synced } = open(t)
  const ids = ['one', 'two', 'three', 'four']
  await Promise.all(ids.map((id, at) => objects.put(testObject(at + 1, id, id), 'once')))
  synced.times = 0

  const results = await Promise.all(ids.map((id, at) => objects.drop(removalOf(at === 2 ? 0 : 9, id), 'cut')))

  t.equal(synced.times, 1)
  t.same(results, [
    { status: 'applied', revision: 9 },
    { status: 'applied', revision: 9 },
    { status: 'applied', revision: 3 },
    { status: 'applied', revision: 9 }
  ])
  t.same([...applied.keys()], ['three'], 'a drop that is older than the object changes nothing')
  t.match(db.prepare('select id from managed_object').all(), [{ id: 'three' }])
})

t.test('an object that is put, dropped and put again at once has the last value', async t => {
  const { objects, applied, db } = open(t)

  const results = await Promise.all([
    objects.put(testObject(1, 'first'), 'once'),
    objects.put(testObject(2, 'second'), 'once'),
    objects.drop(removalOf(3), 'cut'),
    objects.put(testObject(4, 'last'), 'once'),
    objects.put(testObject(1, 'old', 'two'), 'once')
  ])

  t.same(
    results.map(({ revision }) => revision),
    [1, 2, 3, 4, 1]
  )
  t.same(
    [...applied],
    [
      ['one', 'last'],
      ['two', 'old']
    ]
  )
  t.match(db.prepare('select id, revision from managed_object order by id').all(), [
    { id: 'one', revision: 4 },
    { id: 'two', revision: 1 }
  ])
})

t.test('puts that arrive together and cannot be saved are not applied', async t => {
  const { objects, applied, db } = open(t)
  await objects.put(testObject(1), 'retry')
  db.exec('pragma query_only = 1')

  const [same, other, another] = await Promise.allSettled([
    objects.put(testObject(1), 'retry'),
    objects.put(testObject(2, 'b', 'two'), 'retry'),
    objects.put(testObject(3, 'c', 'three'), 'retry')
  ])

  t.match(same, { value: { status: 'applied', revision: 1 } }, 'an equal put needs no save')
  t.match([other, another], [{ reason: { message: /readonly/ } }, { reason: { message: /readonly/ } }])
  t.same([...applied.values()], ['a'])
})

t.test('an older revision changes nothing, and the result has the current one', async t => {
  const { objects, applied } = open(t)
  await objects.put(testObject(3, 'new'), 'once')

  t.same(await objects.put(testObject(2, 'old'), 'once'), { status: 'applied', revision: 3 })
  t.same(await objects.drop(removalOf(1), 'cut'), { status: 'applied', revision: 3 })

  t.same([...applied.values()], ['new'])
})

t.test('an equal object under a newer revision is saved and not applied again', async t => {
  const { objects, applies } = open(t)
  await objects.put(testObject(3), 'once')

  t.same(await objects.put(testObject(7), 'once'), { status: 'applied', revision: 7 })

  t.same(applies, ['a'])
  t.equal(objects.digest(), digestOf('', [testObject(7)]))
})

t.test('an object that is refused with once is not saved, and the previous one stays', async t => {
  const { objects, applied, refused, db } = open(t)
  refused.set('bad', 'port_in_use')

  const first = await objects.put(testObject(1, 'bad'), 'once')
  t.match(first, { status: 'refused', revision: 1, code: 'port_in_use' })
  t.same(objects.inventory('').rows, [])

  await objects.put(testObject(2, 'good'), 'once')
  t.match(await objects.put(testObject(3, 'bad'), 'once'), { status: 'refused', revision: 3 })
  t.same([...applied.values()], ['good'])
  t.match(db.prepare('select revision from managed_object').all(), [{ revision: 2 }])
})

t.test(
  'an object that cannot be applied now is saved and retried with backoff, and its change is reported',
  async t => {
    const { objects, clock, applies, refused, sent, channel } = open(t)
    refused.set('a', 'port_in_use')
    objects.attach(channel)

    t.match(await objects.put(testObject(5), 'retry'), { status: 'refused', code: 'port_in_use' })
    t.match(objects.inventory('').rows, [{ id: 'one', revision: 5, state: 'waiting' }])
    t.equal(objects.digest(), digestOf('', []), 'the digest covers only applied objects')

    await clock.advance(1000)
    t.equal(applies.length, 2)
    await clock.advance(1999)
    t.equal(applies.length, 2)
    await clock.advance(1)
    t.equal(applies.length, 3)
    t.same(sent, [], 'nothing has changed')

    refused.clear()
    await clock.advance(4000)
    t.same(sent, [[ObjectStatus.name, { kind: 'sample', id: 'one', revision: 5, code: '', message: '' }]])
    await clock.advance(600_000)
    t.equal(applies.length, 4, 'an applied object is not applied again')
  }
)

t.test('an applied object is withdrawn when its replacement cannot be applied', async t => {
  const { objects, clock, applied, refused } = open(t)
  await objects.put(testObject(1, 'wide'), 'once')
  refused.set('narrow', 'field_unknown')

  t.match(await objects.put(testObject(2, 'narrow'), 'retry'), { status: 'refused', code: 'field_unknown' })
  t.equal(applied.size, 0)

  refused.clear()
  await clock.advance(1000)
  t.same([...applied.values()], ['narrow'])
})

t.test('a failed object is still retried if its replacement could not be saved', async t => {
  const { objects, clock, applied, refused, db } = open(t)
  refused.set('a', 'port_in_use')
  await objects.put(testObject(1), 'retry')
  db.exec('pragma query_only = 1')
  await t.rejects(objects.put(testObject(2, 'b'), 'retry'), { message: /readonly/ })

  refused.clear()
  await clock.advance(1000)
  await nextTurn()

  t.same([...applied.values()], ['a'])
})

t.test('the backoff ends at 60 s', async t => {
  const { objects, clock, applies, refused } = open(t)
  refused.set('a', 'port_in_use')
  await objects.put(testObject(1), 'retry')

  await clock.advance(63_000) // 1 + 2 + 4 + 8 + 16 + 32
  const before = applies.length
  await clock.advance(60_000)

  t.equal(applies.length, before + 1)
})

t.test('a change between the digest and the stream is reported on the stream', async t => {
  const { objects, clock, refused, sent, channel } = open(t)
  refused.set('a', 'port_in_use')
  await objects.put(testObject(5), 'retry')
  objects.digest()
  refused.clear()
  await clock.advance(1000)

  objects.attach(channel)

  t.match(sent, [[ObjectStatus.name, { id: 'one', code: '' }]])
})

t.test('failed objects are reported on every stream: the server may have forgotten them', async t => {
  const { objects, refused, sent, channel } = open(t)
  refused.set('b', 'port_in_use')
  await objects.put(testObject(1, 'a', 'one'), 'once')
  await objects.put(testObject(2, 'b', 'two'), 'retry')
  objects.digest()

  objects.attach(channel)

  t.match(sent, [[ObjectStatus.name, { kind: 'sample', id: 'two', revision: 2, code: 'port_in_use' }]])
})

t.test(
  'a drop is answered when the object is withdrawn, and its removal reported when it has drained',
  async t => {
    const { objects, drains, holdDrains, sent, channel } = open(t)
    holdDrains()
    await objects.put(testObject(1), 'once')
    objects.attach(channel)

    t.same(await objects.drop(removalOf(2), 'drain'), { status: 'applied', revision: 2 })
    t.match(objects.inventory('').rows, [{ id: 'one', revision: 2, state: 'draining' }])
    t.same(sent, [])

    drains[0]?.()
    await nextTurn()
    t.same(sent, [[ObjectRemoved.name, { kind: 'sample', id: 'one', revision: 2 }]])
    t.same(objects.inventory('').rows, [])
  }
)

t.test('a removal is reported again if there was no stream or the stream was lost', async t => {
  const { objects, clock, sent, channel } = open(t)
  await objects.drop(removalOf(2), 'drain')
  await nextTurn()
  t.same(sent, [])

  objects.attach(channel)
  t.equal(sent.length, 1)
  objects.detach()
  objects.attach(channel)
  t.equal(sent.length, 2)

  await clock.advance(60_001)
  objects.detach()
  objects.attach(channel)
  t.equal(sent.length, 2, 'it is not reported after a minute')
})

t.test('a put that is older than the drop of its object does not restore it', async t => {
  const { objects, applied } = open(t)
  await objects.drop(removalOf(9), 'cut')

  t.same(await objects.put(testObject(8), 'once'), { status: 'applied', revision: 9 })

  t.equal(applied.size, 0)
})

t.test('at a start all saved objects are applied again, and those that fail are retried', async t => {
  const first = open(t)
  await first.objects.put(testObject(1, 'a', 'one'), 'once')
  await first.objects.put(testObject(2, 'b', 'two'), 'once')
  first.objects.close()

  const second = open(t, first.dir)
  second.refused.set('b', 'port_in_use')
  await second.objects.restore()
  t.same([...second.applied.values()], ['a'])
  t.match(second.log.lines, [
    {
      event: 'object.not_restored',
      message: 'b cannot be applied',
      fields: { id: 'two', code: 'port_in_use' }
    }
  ])
  t.equal(second.objects.digest(), digestOf('', [testObject(1)]))

  second.refused.clear()
  await second.clock.advance(1000)
  t.same([...second.applied.values()].sort(), ['a', 'b'])
})

t.test('a start applies ordered objects in order and all others at once', async t => {
  const first = open(t)
  for (const [id, text] of ['a:2', 'b:1', 'plain', 'a:0', 'a:1'].entries())
    await first.objects.put(testObject(id + 1, text, `id-${id}`), 'once')
  const second = open(t, first.dir)

  await second.objects.restore()

  t.same(second.applies, ['plain', 'a:0', 'b:1', 'a:1', 'a:2'])
})

t.test('failed objects of one group are retried together, in their order', async t => {
  const { objects, clock, applies, refused, applied } = open(t)
  for (const text of ['a:2', 'a:0', 'b:0']) refused.set(text, 'port_in_use')
  for (const [at, text] of ['a:2', 'b:0', 'a:0'].entries()) {
    await objects.put(testObject(at + 1, text, text), 'retry')
    await clock.advance(300)
  }
  refused.clear()
  applies.length = 0

  await clock.advance(100)
  await nextTurn()

  t.same(applies, ['a:0', 'a:2'], 'the timer of a:2 is due first')
  await clock.advance(1000)
  t.same(applies, ['a:0', 'a:2', 'b:0'])
  t.equal(applied.size, 3)
})

t.test('a new generation of the store resets all revisions to 0 and applies nothing', async t => {
  const { objects, applies, applied, dir } = open(t)
  await objects.welcome('g1', ['sample'])
  await objects.put(testObject(40), 'once')

  await objects.welcome('g2', ['sample'])
  t.equal(objects.digest(), digestOf('g2', [testObject(0)]))
  t.same(await objects.put(testObject(3), 'once'), { status: 'applied', revision: 3 })

  t.same(applies, ['a'])
  t.same([...applied.values()], ['a'])
  const restarted = open(t, dir)
  await restarted.objects.restore()
  t.equal(restarted.objects.digest(), digestOf('g2', [testObject(3)]))
})

t.test('a new generation is adopted although another process has locked the database', async t => {
  const { objects, db, dir } = open(t)
  db.setLockWait(0)
  await objects.put(testObject(40), 'once')
  const other = new DatabaseSync(join(dir, 'state.db'))
  t.teardown(() => other.close())
  other.exec('begin immediate')
  setTimeout(() => other.exec('rollback'), 50)

  await objects.welcome('b', ['sample'])

  t.same(objects.digest(), digestOf('b', [{ kind: 'sample', id: 'one', revision: 0 }]))
})

t.test('objects of kinds that the server does not manage are dropped', async t => {
  const { objects, applied, db } = open(t)
  await objects.put(testObject(1), 'once')

  await objects.welcome('g1', ['other'])

  t.equal(applied.size, 0)
  t.same(db.prepare('select * from managed_object').all(), [])
})

t.test('an object of a kind without a plugin stays saved and is listed as waiting', async t => {
  const { objects, db } = open(t)
  db.prepare('insert into managed_object values (?, ?, ?, ?)').run('lost', 'x', 4, Buffer.from('x'))

  await objects.restore()

  t.match(objects.inventory('').rows, [{ kind: 'lost', id: 'x', revision: 4, state: 'waiting' }])
})

t.test('the inventory comes in pages of 500 rows', async t => {
  const { objects } = open(t)
  const ids = Array.from({ length: 1001 }, (_, i) => `id-${String(i).padStart(4, '0')}`)
  for (const id of ids) await objects.put(testObject(1, 'a', id), 'once')

  const first = objects.inventory('')
  const second = objects.inventory(`sample ${first.rows.at(-1)?.id}`)
  const third = objects.inventory(`sample ${second.rows.at(-1)?.id}`)

  t.same([first.rows.length, second.rows.length, third.rows.length], [500, 500, 1])
  t.same([first.more, second.more, third.more], [true, true, false])
  t.same(
    [...first.rows, ...second.rows, ...third.rows].map(({ id }) => id),
    ids
  )
})

t.test('clear withdraws everything and deletes it from disk', async t => {
  const { objects, applied, db } = open(t)
  await objects.put(testObject(1), 'once')

  await objects.clear()

  t.equal(applied.size, 0)
  t.same(db.prepare('select * from managed_object').all(), [])
})

t.test('after close nothing changes and nothing is answered', async t => {
  const { objects, applied } = open(t)
  objects.close()
  let isAnswered = false

  objects.put(testObject(1), 'once').then(() => {
    isAnswered = true
  })
  await nextTurn()

  t.equal(isAnswered, false)
  t.equal(applied.size, 0)
})

t.test(
  'while the owner of a kind is replaced, its objects are withdrawn; failed ones stay withdrawn',
  async t => {
    const { objects, applied, refused, log } = open(t)
    await objects.put(testObject(1, 'a', 'one'), 'once')
    await objects.put(testObject(1, 'b', 'two'), 'once')

    await objects.changeOwners(new Set(['sample']), async () => {
      t.same([...applied], [])
      refused.set('b', 'no_room')
    })

    t.same([...applied], [['one', 'a']])
    t.match(log.lines, [{ event: 'object.not_restored', fields: { id: 'two', code: 'no_room' } }])
    t.equal(objects.digest(), digestOf('', [{ kind: 'sample', id: 'one', revision: 1 }]))
  }
)

t.test('when another owner is replaced, an object that can no longer be applied is withdrawn', async t => {
  const { objects, applied, refused, sent, channel } = open(t)
  await objects.put(testObject(1, 'a'), 'once')
  objects.digest()
  refused.set('a', 'field_unknown')

  await t.rejects(
    objects.changeOwners(new Set(), async () => {
      t.same([...applied], [['one', 'a']])
      throw new Error('cannot start')
    }),
    { message: 'cannot start' }
  )

  t.same([...applied], [])
  objects.attach(channel)
  t.match(sent, [[ObjectStatus.name, { id: 'one', code: 'field_unknown' }]])
})
