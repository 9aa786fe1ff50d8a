// Carries 5 MB through a native engine, and tells what it said meanwhile: node native-denied.ts
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { nativeUnderTest } from './native-under-test.ts'
import { call, collect, echo, openTarget, rig, ruleTo, sha256 } from './rig.ts'

const native = nativeUnderTest()
t.test('5 MB', async t => {
  if (!native.ok) throw new Error(native.reason)
  const { engine, events } = rig(t, options => native.openEngine({ ...options, threads: 1 }))
  const rule = await ruleTo([await openTarget(t, echo)])
  await engine.open(rule)
  const bytes = randomBytes(5_000_000)
  const caller = await call(t, rule.from)
  caller.end(bytes)
  t.equal(sha256(await collect(caller)), sha256(bytes))
  await engine.stop()
  process.send?.({ told: events.filter(({ kind }) => /^(splice|pipe)/.test(kind)) })
})
