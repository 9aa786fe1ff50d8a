// node native-no-ports.ts: callers of a rule without a free local port towards its target. Sends the refusals.
import t from 'tap'
import { echo, endOf, engineFixture, openCaller, openTarget, ruleTo, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const callers = 20

t.test('callers', async t => {
  if (!native.ok) throw new Error(native.reason)
  const { engine, counters } = engineFixture(t, options => native.openEngine({ ...options, threads: 1 }))
  const rule = await ruleTo([await openTarget(t, echo)])
  await engine.open(rule)
  const ends = await Promise.all(
    Array.from({ length: callers }, async () => endOf(await openCaller(t, rule.from)))
  )
  await until(() => counters().rejected.no_local_port === callers)
  process.send?.({ seen: { ends: [...new Set(ends)], rejected: counters().rejected } })
})
