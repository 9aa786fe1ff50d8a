// The native engine does not wait for JavaScript: excess records are dropped and counted.
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { recordsIn } from './cases/connection-records.ts'
import { engineFixture, ruleTo, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

/** More than the engine buffers, which keeps a quarter free for other owners. */
const flood = 20_000

/** Records that the threads, at most 4, still have in a batch, or that exceed the buffer with the last batch. */
const batches = 4 * 2 * 256

/** Connects one after the other from another process, because this one is blocked. */
const call = (port: number, callers: number) =>
  spawnSync(process.execPath, [
    '-e',
    `const { connect } = require('net')
    let begun = 0
    const next = () => {
      if (begun++ < ${callers}) connect(${port}, '127.0.0.1').on('error', () => {}).on('close', next)
    }
    for (let at = 0; at < 32; at++) next()`
  ])

const native = nativeUnderTest()
if (!native.ok) t.plan(0, native.reason)
else {
  t.test('while JavaScript is busy, records of an owner beyond 12,288 are dropped and counted', async t => {
    const fixture = engineFixture(t, native.openEngine)
    const { engine, events } = fixture
    const source = { allow: [], deny: [], refusal: 'source_denied' }
    const rule = await ruleTo([9], { source, reportEnds: true })
    await engine.open(rule)

    t.equal(call(rule.from, flood).status, 0)

    const lost = () =>
      events.reduce((sum, event) => sum + (event.kind === 'connections-ended' ? event.lost : 0), 0)
    await until(() => lost() + recordsIn(fixture).length === flood)
    t.equal(fixture.counters().rejected['source_denied'], flood)
    t.ok(lost() >= flood - 12_288 - batches, `${lost()} lost`)
  })

  t.test('while JavaScript is busy, a flood of one owner leaves the records of another one', async t => {
    const fixture = engineFixture(t, native.openEngine)
    const source = { allow: [], deny: [], refusal: 'source_denied' }
    const anns = await ruleTo([9], { source, reportEnds: true })
    const bobs = await ruleTo([9], { source, reportEnds: true, owner: 'bob' })
    for (const rule of [anns, bobs]) await fixture.engine.open(rule)

    t.equal(call(anns.from, flood).status, 0)
    t.equal(call(bobs.from, 100).status, 0)

    const ofBob = () => recordsIn(fixture).filter(({ ruleId }) => ruleId === bobs.id)
    await until(() => ofBob().length === 100)
  })
}
