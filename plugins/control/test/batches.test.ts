// What many agents do at once: in groups, and in slices.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { openInternCapabilities } from '../listener/intern-capabilities.ts'
import { openYieldQueue } from '../objects/yield-queue.ts'
import { batchCalls } from '../sessions/batch-calls.ts'

t.test('what concerns all goes on in slices, in order, one in each turn of the event loop', async t => {
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
  t.equal(passed.at(-1), 5, 'also after all have passed')
})

t.test('what comes while a group is worked on is the next group, of bounded size', async t => {
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

t.test('a group that fails tells all of its own, and no other', async t => {
  const add = batchCalls<string>(1, async ([one]) => {
    if (one === 'bad') throw new Error('no')
  })

  const results = await Promise.allSettled([add('good'), add('bad'), add('fine')])

  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled']
  )
})

t.test('agents that announce the same share one object; of the 101st kind each has its own', async t => {
  const shared = openInternCapabilities()
  const kept = Array.from({ length: 100 }, (_, i) => shared({ udp: `1.${i}.0` }))

  for (const [i, one] of kept.entries()) t.equal(shared({ udp: `1.${i}.0` }), one)
  t.not(shared({ udp: '2.0.0' }), shared({ udp: '2.0.0' }))
  t.equal(shared(null), null)
})
