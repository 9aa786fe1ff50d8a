import t, { type Test } from 'tap'
import { openManagedObjects } from '../../agent/objects/managed-objects.ts'
import { openObjectStore } from '../../agent/objects/object-store.ts'
import type { AgentCall, AgentObject } from '../../agent/plugin.ts'
import { openStateDatabase } from '../../agent/state/database.ts'
import { digestOf, ObjectRemoved, ObjectStatus } from '../../kernel/wire/control.ts'
import { type Message, Refused } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { recordLog } from './recorded-log.ts'

const thing = (revision: number, text = 'a', id = 'one'): AgentObject => ({
  kind: 'thing',
  id,
  revision,
  bytes: new TextEncoder().encode(text)
})
const dropOf = (revision: number, id = 'one') => ({ kind: 'thing', id, revision })

/** What is in force is in `applied`; a text in `refused` cannot be applied. */
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
  const held = openManagedObjects({
    store: openObjectStore(db),
    kinds: [
      {
        kind: 'thing',
        async apply(id, bytes) {
          const text = new TextDecoder().decode(bytes)
          applies.push(text)
          const code = refused.get(text)
          if (code) throw new Refused(code, `${text} cannot be`)
          applied.set(id, text)
        },
        /** 'port:2' is the third of its port. */
        applyOrder(bytes) {
          const [, group, rank] = /^(\w+):(\d)/.exec(new TextDecoder().decode(bytes)) ?? []
          if (group === undefined) throw new Error('no turn in it')
          return { group, rank: Number(rank) }
        },
        async withdraw(id) {
          applied.delete(id)
          if (!holdsDrains) return { done: Promise.resolve() }
          return { done: new Promise(resolve => void drains.push(resolve)) }
        }
      }
    ],
    call: () => ({}) as AgentCall,
    clock,
    log
  })
  const said: unknown[] = []
  const line = {
    send: ({ name }: Message, body: object) => void said.push([name, body])
  } as unknown as MessageChannel
  const holdDrains = () => {
    holdsDrains = true
  }
  return { held, clock, applied, applies, refused, drains, holdDrains, said, line, db, dir, log }
}
const turn = () => new Promise<void>(resolve => setImmediate(() => setImmediate(resolve)))

t.test('an object that was put is in force, on disk, and part of the digest', async t => {
  const { held, applied, db } = open(t)

  const verdict = await held.put(thing(3), 'once')

  t.same(verdict, { status: 'applied', revision: 3 })
  t.same([...applied], [['one', 'a']])
  t.equal(held.digest(), digestOf('', [{ kind: 'thing', id: 'one', revision: 3 }]))
  t.match(db.prepare('select kind, id, revision from held').all(), [
    { kind: 'thing', id: 'one', revision: 3 }
  ])
})

t.test('an older revision changes nothing and is answered with the one held', async t => {
  const { held, applied } = open(t)
  await held.put(thing(3, 'new'), 'once')

  t.same(await held.put(thing(2, 'old'), 'once'), { status: 'applied', revision: 3 })
  t.same(await held.drop(dropOf(1), 'cut'), { status: 'applied', revision: 3 })

  t.same([...applied.values()], ['new'])
})

t.test('equal bytes under a newer revision are saved and not touched', async t => {
  const { held, applies } = open(t)
  await held.put(thing(3), 'once')

  t.same(await held.put(thing(7), 'once'), { status: 'applied', revision: 7 })

  t.same(applies, ['a'])
  t.equal(held.digest(), digestOf('', [thing(7)]))
})

t.test('what is refused once is not kept, and what was there before stays', async t => {
  const { held, applied, refused, db } = open(t)
  refused.set('bad', 'port_in_use')

  const first = await held.put(thing(1, 'bad'), 'once')
  t.match(first, { status: 'refused', revision: 1, code: 'port_in_use' })
  t.same(held.stock('').rows, [])

  await held.put(thing(2, 'good'), 'once')
  t.match(await held.put(thing(3, 'bad'), 'once'), { status: 'refused', revision: 3 })
  t.same([...applied.values()], ['good'])
  t.match(db.prepare('select revision from held').all(), [{ revision: 2 }])
})

t.test('what cannot be applied now is kept, tried again with backoff, and its change is told', async t => {
  const { held, clock, applies, refused, said, line } = open(t)
  refused.set('a', 'port_in_use')
  held.attach(line)

  t.match(await held.put(thing(5), 'retry'), { status: 'refused', code: 'port_in_use' })
  t.match(held.stock('').rows, [{ id: 'one', revision: 5, state: 'waiting' }])
  t.equal(held.digest(), digestOf('', []), 'the digest speaks of what is applied')

  await clock.advance(1000)
  t.equal(applies.length, 2)
  await clock.advance(1999)
  t.equal(applies.length, 2)
  await clock.advance(1)
  t.equal(applies.length, 3)
  t.same(said, [], 'nothing has changed')

  refused.clear()
  await clock.advance(4000)
  t.same(said, [[ObjectStatus.name, { kind: 'thing', id: 'one', revision: 5, code: '', message: '' }]])
  await clock.advance(600_000)
  t.equal(applies.length, 4, 'what is applied is left alone')
})

t.test('what was in force goes when the object that replaces it cannot be applied', async t => {
  const { held, clock, applied, refused } = open(t)
  await held.put(thing(1, 'wide'), 'once')
  refused.set('narrow', 'field_unknown')

  t.match(await held.put(thing(2, 'narrow'), 'retry'), { status: 'refused', code: 'field_unknown' })
  t.equal(applied.size, 0)

  refused.clear()
  await clock.advance(1000)
  t.same([...applied.values()], ['narrow'])
})

t.test('the backoff ends at 60 s', async t => {
  const { held, clock, applies, refused } = open(t)
  refused.set('a', 'port_in_use')
  await held.put(thing(1), 'retry')

  await clock.advance(63_000) // 1 + 2 + 4 + 8 + 16 + 32
  const before = applies.length
  await clock.advance(60_000)

  t.equal(applies.length, before + 1)
})

t.test('a change that falls between the digest and the stream is told on the stream', async t => {
  const { held, clock, refused, said, line } = open(t)
  refused.set('a', 'port_in_use')
  await held.put(thing(5), 'retry')
  held.digest()
  refused.clear()
  await clock.advance(1000)

  held.attach(line)

  t.match(said, [[ObjectStatus.name, { id: 'one', code: '' }]])
})

t.test('what waits is told to each server that is joined: it may know it no more', async t => {
  const { held, refused, said, line } = open(t)
  refused.set('b', 'port_in_use')
  await held.put(thing(1, 'a', 'one'), 'once')
  await held.put(thing(2, 'b', 'two'), 'retry')
  held.digest()

  held.attach(line)

  t.match(said, [[ObjectStatus.name, { kind: 'thing', id: 'two', revision: 2, code: 'port_in_use' }]])
})

t.test('a drop is answered when it is shut, and Gone follows when it has drained', async t => {
  const { held, drains, holdDrains, said, line } = open(t)
  holdDrains()
  await held.put(thing(1), 'once')
  held.attach(line)

  t.same(await held.drop(dropOf(2), 'drain'), { status: 'applied', revision: 2 })
  t.match(held.stock('').rows, [{ id: 'one', revision: 2, state: 'draining' }])
  t.same(said, [])

  drains[0]?.()
  await turn()
  t.same(said, [[ObjectRemoved.name, { kind: 'thing', id: 'one', revision: 2 }]])
  t.same(held.stock('').rows, [])
})

t.test(
  'Gone that fell into a time without a stream, or may have been lost with one, is sent again',
  async t => {
    const { held, clock, said, line } = open(t)
    await held.drop(dropOf(2), 'drain')
    await turn()
    t.same(said, [])

    held.attach(line)
    t.equal(said.length, 1)
    held.detach()
    held.attach(line)
    t.equal(said.length, 2)

    await clock.advance(60_001)
    held.detach()
    held.attach(line)
    t.equal(said.length, 2, 'a minute later it has arrived')
  }
)

t.test('a put that is older than the drop of the same object does not bring it back', async t => {
  const { held, applied } = open(t)
  await held.drop(dropOf(9), 'cut')

  t.same(await held.put(thing(8), 'once'), { status: 'applied', revision: 9 })

  t.equal(applied.size, 0)
})

t.test('at a start everything saved is in force again; what fails is tried again', async t => {
  const first = open(t)
  await first.held.put(thing(1, 'a', 'one'), 'once')
  await first.held.put(thing(2, 'b', 'two'), 'once')
  first.held.close()

  const second = open(t, first.dir)
  second.refused.set('b', 'port_in_use')
  await second.held.restore()
  t.same([...second.applied.values()], ['a'])
  t.match(second.log.lines, [
    { event: 'held.not_restored', message: 'b cannot be', fields: { id: 'two', code: 'port_in_use' } }
  ])
  t.equal(second.held.digest(), digestOf('', [thing(1)]))

  second.refused.clear()
  await second.clock.advance(1000)
  t.same([...second.applied.values()].sort(), ['a', 'b'])
})

t.test('at a start what has a turn comes into force in its order, and what has none all at once', async t => {
  const first = open(t)
  for (const [id, text] of ['a:2', 'b:1', 'plain', 'a:0', 'a:1'].entries())
    await first.held.put(thing(id + 1, text, `id-${id}`), 'once')
  const second = open(t, first.dir)

  await second.held.restore()

  t.same(second.applies, ['plain', 'a:0', 'b:1', 'a:1', 'a:2'])
})

t.test('what waits for the same thing is tried together, in its order', async t => {
  const { held, clock, applies, refused, applied } = open(t)
  for (const text of ['a:2', 'a:0', 'b:0']) refused.set(text, 'port_in_use')
  for (const [at, text] of ['a:2', 'b:0', 'a:0'].entries()) {
    await held.put(thing(at + 1, text, text), 'retry')
    await clock.advance(300)
  }
  refused.clear()
  applies.length = 0

  await clock.advance(100)
  await turn()

  t.same(applies, ['a:0', 'a:2'], 'the first timer that is due is of a:2')
  await clock.advance(1000)
  t.same(applies, ['a:0', 'a:2', 'b:0'])
  t.equal(applied.size, 3)
})

t.test('another generation of the store makes all revisions 0 and touches nothing', async t => {
  const { held, applies, applied, dir } = open(t)
  await held.welcome('g1', ['thing'])
  await held.put(thing(40), 'once')

  await held.welcome('g2', ['thing'])
  t.equal(held.digest(), digestOf('g2', [thing(0)]))
  t.same(await held.put(thing(3), 'once'), { status: 'applied', revision: 3 })

  t.same(applies, ['a'])
  t.same([...applied.values()], ['a'])
  const again = open(t, dir)
  await again.held.restore()
  t.equal(again.held.digest(), digestOf('g2', [thing(3)]))
})

t.test('kinds that the server does not keep are dropped', async t => {
  const { held, applied, db } = open(t)
  await held.put(thing(1), 'once')

  await held.welcome('g1', ['other'])

  t.equal(applied.size, 0)
  t.same(db.prepare('select * from held').all(), [])
})

t.test('an object of a kind that no plugin keeps any more waits and is listed', async t => {
  const { held, db } = open(t)
  db.prepare('insert into held values (?, ?, ?, ?)').run('lost', 'x', 4, Buffer.from('x'))

  await held.restore()

  t.match(held.stock('').rows, [{ kind: 'lost', id: 'x', revision: 4, state: 'waiting' }])
})

t.test('the inventory comes in parts of 500 rows', async t => {
  const { held } = open(t)
  const ids = Array.from({ length: 1001 }, (_, i) => `id-${String(i).padStart(4, '0')}`)
  for (const id of ids) await held.put(thing(1, 'a', id), 'once')

  const first = held.stock('')
  const second = held.stock(`thing ${first.rows.at(-1)?.id}`)
  const third = held.stock(`thing ${second.rows.at(-1)?.id}`)

  t.same([first.rows.length, second.rows.length, third.rows.length], [500, 500, 1])
  t.same([first.more, second.more, third.more], [true, true, false])
  t.same(
    [...first.rows, ...second.rows, ...third.rows].map(({ id }) => id),
    ids
  )
})

t.test('clear takes everything out of force and off the disk', async t => {
  const { held, applied, db } = open(t)
  await held.put(thing(1), 'once')

  await held.clear()

  t.equal(applied.size, 0)
  t.same(db.prepare('select * from held').all(), [])
})

t.test('after close nothing changes and nothing is answered', async t => {
  const { held, applied } = open(t)
  held.close()
  let isAnswered = false

  held.put(thing(1), 'once').then(() => {
    isAnswered = true
  })
  await turn()

  t.equal(isAnswered, false)
  t.equal(applied.size, 0)
})
