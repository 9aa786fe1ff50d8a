// A blocked JavaScript thread does not delay connections to a name that the native engine has cached.
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { engineFixture, openCaller, ruleTo, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const script = join(import.meta.dirname, 'cached-name-callers.ts')
/** Answers are stale at once, and usable for a minute. */
const answer = { ok: true, addresses: ['127.0.0.1'], freshMs: 0, usableMs: 60_000 } as const

if (!native.ok) t.plan(0, native.reason)
else
  t.test('callers of a cached name are served while JavaScript is blocked', async t => {
    const { engine, counters } = engineFixture(t, options => native.openEngine({ ...options, threads: 1 }), {
      names: { 'web.test': answer }
    })
    const done = new Int32Array(new SharedArrayBuffer(4))
    const callers = new Worker(script, { workerData: { done } })
    t.teardown(() => callers.terminate())
    const [port] = (await once(callers, 'message')) as [number]
    const rule = await ruleTo([{ host: 'web.test', port }])
    await engine.open(rule)
    await openCaller(t, rule.from) // caches the name
    await until(() => counters().targets[0]?.connectionsTotal === 1)

    callers.postMessage(rule.from)
    const ended = Atomics.wait(done, 0, 0, 20_000) // blocks this thread

    t.equal(ended, 'ok', 'ten callers got their answers')
    t.equal(counters().targets[0]?.connectionsTotal, 11)
  })
