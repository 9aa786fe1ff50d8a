// Quotas at full speed in every engine mode. test/bench/quota-overshoot.ts does the same at full size.
import t from 'tap'
import { allowedBytes, exhaust, race } from '../../../test/bench/overshoot/measure-overshoot.ts'
import {
  type EngineMode,
  engineModes,
  overshootFixture,
  ruleKinds
} from '../../../test/bench/overshoot/overshoot-fixture.ts'

const MiB = 1024 * 1024
const connections = 5

t.test('at most 64 KiB per connection pass above a quota', { timeout: 240_000 }, async t => {
  const wanted = Object.keys(engineModes) as EngineMode[]
  const fixture = await overshootFixture(t, wanted)
  const cells = []
  for (const mode of wanted)
    for (const kind of ruleKinds) {
      const rule = await fixture.openRule(mode, kind, `user-${cells.length}`)
      cells.push({ label: `${mode}, ${kind}`, over: await exhaust(rule, connections, 2 * MiB) })
    }

  for (const { label, over } of cells) {
    const committed = await over.committed()
    t.ok(
      committed >= 0 && committed <= connections * allowedBytes,
      `${label}: ${committed} bytes over were committed`
    )
    t.ok(over.received <= committed, `${label}: ${over.received} were received`)
  }
})

t.test('changing a quota under traffic neither loses nor grants bytes', { timeout: 240_000 }, async t => {
  const fixture = await overshootFixture(t, ['native, splice'])
  const rule = await fixture.openRule('native, splice', 'plain', 'ann')

  const { over, lost } = await race(rule, 30, connections)

  t.equal(lost, 0)
  t.ok(over >= 0 && over <= connections * allowedBytes, `${over} bytes over`)
})
