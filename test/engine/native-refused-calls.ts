// node native-refused-calls.ts: moves 5 MB through a native engine beside small exchanges, and sends its events to the parent.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { collect, echo, engineFixture, openCaller, openTarget, ruleTo, sha256 } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()

/** Makes small exchanges, one after the other, until `stop` is aborted. */
async function exchangeUntil(stop: AbortSignal, caller: Socket): Promise<void> {
  while (!stop.aborted) {
    caller.write(randomBytes(64))
    await once(caller, 'data')
  }
  caller.destroy()
}

t.test('5 MB', async t => {
  if (!native.ok) throw new Error(native.reason)
  const { engine, events } = engineFixture(t, options => native.openEngine({ ...options, threads: 1 }))
  const rule = await ruleTo([await openTarget(t, echo)])
  await engine.open(rule)
  const bytes = randomBytes(5_000_000)
  const stop = new AbortController()
  const exchanges: Promise<void>[] = []
  for (let i = 0; i < 16; i++) exchanges.push(exchangeUntil(stop.signal, await openCaller(t, rule.from)))
  const caller = await openCaller(t, rule.from)
  caller.end(bytes)
  t.equal(sha256(await collect(caller)), sha256(bytes))
  stop.abort()
  await Promise.all(exchanges)
  await engine.stop()
  process.send?.({ events: events.filter(({ kind }) => /^(splice|pipe)/.test(kind)) })
})
