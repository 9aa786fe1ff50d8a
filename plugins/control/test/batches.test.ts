import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { openInternCapabilities } from '../listener/intern-capabilities.ts'
import { openYieldQueue } from '../objects/yield-queue.ts'
import { batchCalls } from '../sessions/batch-calls.ts'

t.test('the yield queue lets waiters continue in order, a few in each turn of the event loop', async t => {
  const turn = openYieldQueue(2)
  const passed: number[] = []
  for (let i = 0; i < 5; i++) void turn().then(() => passed.push(i))
  t.same(passed, [])

  for (const seen of [
    [0, 1],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 4]
  ]) {
    await setImmediate()
    t.same(passed, seen)
  }
  void turn().then(() => passed.push(5))
  await setImmediate()
  t.equal(passed.at(-1), 5, 'it also works after all have continued')
})

t.test('values that arrive during a batch form the next one, of bounded size', async t => {
  const groups: (readonly number[])[] = []
  const first = Promise.withResolvers<void>()
  const add = batchCalls<number>(3, async group => {
    groups.push(group)
    if (groups.length === 1) await first.promise
  })
  const begun = [add(1), add(2)]
  await setImmediate()
  const later = [3, 4, 5, 6].map(add)
  first.resolve()
  await Promise.all([...begun, ...later])

  t.same(groups, [[1, 2], [3, 4, 5], [6]])
})

t.test('a failed batch rejects all of its callers, and no others', async t => {
  const add = batchCalls<string>(1, async ([one]) => {
    if (one === 'bad') throw new Error('no')
  })

  const results = await Promise.allSettled([add('good'), add('bad'), add('fine')])

  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled']
  )
})

t.test('equal capabilities share one object; the 101st distinct one is not shared', async t => {
  const intern = openInternCapabilities()
  const kept = Array.from({ length: 100 }, (_, i) => intern({ udp: `1.${i}.0` }))

  for (const [i, one] of kept.entries()) t.equal(intern({ udp: `1.${i}.0` }), one)
  t.not(intern({ udp: '2.0.0' }), intern({ udp: '2.0.0' }))
  t.equal(intern(null), null)
})
