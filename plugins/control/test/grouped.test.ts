// What many agents do at once: in groups, and in slices.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { grouped } from '../grouped.ts'
import { openShared } from '../shared.ts'

const done = (): void => {}

t.test('what concerns all goes on in slices, in order, one in each turn of the event loop', async t => {
  const passed: number[] = []
  const pass = grouped<number, void>(2, async group => {
    passed.push(...group)
    return done
  })
  for (let i = 0; i < 5; i++) void pass(i)
  t.same(passed, [])

  for (const seen of [
    [0, 1],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 4]
  ]) {
    await setImmediate()
    t.same(passed, seen)
  }
  void pass(5)
  await setImmediate()
  t.equal(passed.at(-1), 5, 'also after all have passed')
})

t.test('what comes while a group is worked on is the next group, of bounded size', async t => {
  const groups: (readonly number[])[] = []
  const first = Promise.withResolvers<void>()
  const add = grouped<number, number>(3, async group => {
    groups.push(group)
    if (groups.length === 1) await first.promise
    return one => one * 10
  })
  const begun = [add(1), add(2)]
  await setImmediate()
  const later = [3, 4, 5, 6].map(add)
  first.resolve()

  t.same(await Promise.all([...begun, ...later]), [10, 20, 30, 40, 50, 60], 'each has its own result')
  t.same(groups, [[1, 2], [3, 4, 5], [6]])
})

t.test('a group that fails tells all of its own, and no other', async t => {
  const add = grouped<string, void>(1, async ([one]) => {
    if (one === 'bad') throw new Error('no')
    return done
  })

  const results = await Promise.allSettled([add('good'), add('bad'), add('fine')])

  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled']
  )
})

t.test('agents that announce the same share one object; of the 101st kind each has its own', async t => {
  const shared = openShared()
  const kept = Array.from({ length: 100 }, (_, i) => shared({ udp: `1.${i}.0` }))

  for (const [i, one] of kept.entries()) t.equal(shared({ udp: `1.${i}.0` }), one)
  t.not(shared({ udp: '2.0.0' }), shared({ udp: '2.0.0' }))
  t.equal(shared(null), null)
})
