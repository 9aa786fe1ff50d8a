// The native engine in a process that starts others: between fork and exec a child also has the engine's descriptors.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { endOf, engineFixture, exchange, openCaller, openEchoRule, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const children = 150

if (!native.ok) t.plan(0, native.reason)
else
  t.test('connections that end while processes start do not disturb others', async t => {
    const { engine, counters } = engineFixture(t, native.openEngine)
    const rule = await openEchoRule(t, engine)
    const lasting = await openCaller(t, rule.from)
    let isDone = false
    let exchanges = 0
    const churn = async () => {
      while (!isDone) {
        const caller = await openCaller(t, rule.from)
        if ((await exchange(caller, 'hello')) === 'hello') exchanges++
        if (exchanges % 2 === 0) caller.resetAndDestroy()
        else await endOf(caller.end())
      }
    }
    const churns = Array.from({ length: 8 }, churn)
    for (let i = 0; i < children; i++) await once(spawn('true', { stdio: 'ignore' }), 'exit')
    isDone = true
    await Promise.all(churns)

    t.equal(await exchange(lasting, 'still here'), 'still here')
    t.ok(exchanges > children)
    lasting.destroy()
    await until(() => counters().ports[0]?.active === 0)
    t.equal(counters().connectionsTotal, exchanges + 1)
  })
