// Runs an engine for native-no-watches.test.ts, with the preloaded library that makes epoll_ctl fail. Sends the parent what
// the callers and counters show.
import t from 'tap'
import { openUdpCaller, openUdpRule, openUdpTarget } from './cases/udp-fixture.ts'
import { echo, endOf, engineFixture, openCaller, openTarget, ruleTo, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()

t.test('connects callers and sends the outcome to the parent', async t => {
  if (!native.ok) throw new Error(native.reason)
  const { engine, counters } = engineFixture(t, options => native.openEngine({ ...options, threads: 1 }), {
    bind: ['127.0.0.1']
  })
  if (process.env['FAIL_WATCHES_OF'] === 'listener') {
    const rule = await openUdpRule(engine, [(await openUdpTarget(t)).port])
    const caller = await openUdpCaller(t, rule.from)
    process.send?.({ seen: await caller.exchange('heard') })
    return
  }
  const rule = await ruleTo([await openTarget(t, echo)])
  await engine.open(rule)
  for (let i = 0; i < 5; i++) await endOf(await openCaller(t, rule.from))
  await until(() => Object.keys(counters().rejected).length > 0)
  process.send?.({
    seen: { rejected: counters().rejected, failures: counters().targets[0]?.consecutiveFailures }
  })
})
