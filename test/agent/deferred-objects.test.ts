// Objects that share a group come into force together: at a reconnect, at a retry and at a start.
import t, { type Test } from 'tap'
import { ManagedObjects } from '../../agent/objects/managed-objects.ts'
import { openObjectStore } from '../../agent/objects/object-store.ts'
import { type AgentCall, type AgentObject, defineObjectKind } from '../../agent/plugin.ts'
import { openStateDatabase } from '../../agent/state/state-database.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { digestOf, ObjectStatus } from '../../kernel/wire/control.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { Echo } from '../support/echo.ts'
import { recordLog } from './recorded-log.ts'

const codec = openCodec([Echo])

/** 'name' shares its port, 'alone' does not. */
const object = (id: string, text: 'name' | 'alone', revision = 1): AgentObject => ({
  kind: 'sample',
  id,
  revision,
  value: { text }
})

/** `turns`: ids that were applied, by turn of the event loop. */
function open(t: Test, dir = t.testdir()) {
  const clock = fakeClock()
  const turns: string[][] = []
  let turn: string[] | null = null
  const refused = new Set<string>()
  const db = openStateDatabase(dir)
  const reported: unknown[] = []
  const objects = new ManagedObjects({
    store: openObjectStore(db),
    kinds: () => [
      defineObjectKind({
        kind: 'sample',
        push: Echo,
        readPush: ({ text }) => ({ id: text, revision: 1 }),
        answer: id => ({ text: id }),
        async apply(id) {
          if (turn === null) {
            turn = []
            turns.push(turn)
            setImmediate(() => {
              turn = null
            })
          }
          turn.push(id)
          await new Promise(setImmediate)
          if (refused.has(id)) throw new Refused('port_in_use', `${id} cannot be applied`)
        },
        applyOrder: ({ text }) => ({ group: 'port', rank: 0, isShared: text === 'name' }),
        withdraw: async () => ({ done: Promise.resolve() })
      })
    ],
    call: () => ({ codec }) as AgentCall, // the only member that is used
    clock,
    log: recordLog()
  })
  objects.attach({
    send: ({ name }: { name: string }, body: object) => void reported.push([name, body])
  } as unknown as MessageChannel)
  t.teardown(() => db.close())
  return { objects, turns, refused, reported, clock, db, dir }
}

t.test('a deferred object waits for the others, and all come into force in one turn', async t => {
  const { objects, turns, reported } = open(t)

  t.same(
    await objects.put(object('a', 'name'), 'deferred'),
    { status: 'applied', revision: 0 },
    'not in force'
  )
  await objects.put(object('b', 'name'), 'deferred')
  t.same(turns, [])
  t.match(objects.inventory('').rows, [{ state: 'waiting' }, { state: 'waiting' }])
  t.equal(objects.digest(), digestOf('', []))

  await objects.applyDeferred('sample')
  t.same(turns, [['a', 'b']])
  t.match(reported, [
    [ObjectStatus.name, { id: 'a', code: '' }],
    [ObjectStatus.name, { id: 'b', code: '' }]
  ])
})

t.test('objects that share no port or are in force are not deferred', async t => {
  const { objects, turns } = open(t)
  await objects.put(object('a', 'name'), 'retry')

  t.same(await objects.put(object('b', 'alone'), 'deferred'), { status: 'applied', revision: 1 })
  t.same(await objects.put(object('a', 'name', 2), 'deferred'), { status: 'applied', revision: 2 })

  t.same(turns.flat(), ['a', 'b'])
})

t.test('a deferred object that cannot come into force is reported and retried', async t => {
  const { objects, turns, refused, reported, clock } = open(t)
  refused.add('a')
  await objects.put(object('a', 'name'), 'deferred')

  await objects.applyDeferred('sample')
  t.match(reported, [[ObjectStatus.name, { id: 'a', code: 'port_in_use' }]])

  refused.clear()
  await clock.advance(1000)
  await objects.applyDeferred('none') // after the retry
  t.same(turns, [['a'], ['a']])
  t.match(reported.at(-1), [ObjectStatus.name, { id: 'a', code: '' }])
})

t.test(
  'an interrupted batch is not applied in part; a start applies all saved objects in one turn',
  async t => {
    const first = open(t)
    await first.objects.put(object('a', 'name'), 'deferred')
    first.objects.detach()
    await first.clock.advance(120_000)
    await first.objects.put(object('b', 'alone'), 'retry')
    t.same(first.turns, [['b']])

    const second = open(t, first.dir)
    await second.objects.restore()
    t.same(second.turns, [['a', 'b']])
  }
)

t.test('objects of one group are retried in one turn', async t => {
  const { objects, turns, refused, clock } = open(t)
  refused.add('a').add('b')
  await objects.put(object('a', 'name'), 'retry')
  await objects.put(object('b', 'name'), 'retry')

  await clock.advance(1000)
  await objects.applyDeferred('none') // after the retry

  t.same(turns, [['a'], ['b'], ['a', 'b']])
})

t.test('a deferred object is not retried with the failed ones of its group', async t => {
  const { objects, turns, refused, clock } = open(t)
  refused.add('a')
  await objects.put(object('a', 'name'), 'retry')
  await objects.put(object('b', 'name'), 'deferred')

  await clock.advance(1000)
  await objects.applyDeferred('none') // after the retry
  t.same(turns, [['a'], ['a']])

  await objects.put(object('a', 'name', 2), 'deferred')
  await clock.advance(120_000)
  await objects.applyDeferred('sample')
  t.same(turns, [['a'], ['a'], ['a', 'b']], 'a failed object that becomes deferred is not retried')
})
