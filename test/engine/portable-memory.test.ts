// The portable engine frees a replaced rule once its connections have ended.
import { queryObjects } from 'node:v8'
import t from 'tap'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { TcpRule } from '../../agent/portable-engine/tcp/tcp-rule.ts'
import { UdpRule } from '../../agent/portable-engine/udp/udp-rule.ts'
import { engineFixture, ruleTo } from './engine-fixture.ts'

for (const [protocol, kind] of [
  ['tcp', TcpRule],
  ['udp', UdpRule]
] as const)
  t.test(`a ${protocol} rule that was changed often uses the memory of one rule`, async t => {
    const { engine, finalCounters } = engineFixture(t, openPortableEngine)
    let rule = await ruleTo([9], { protocol })
    await engine.open(rule)
    for (let change = 0; change < 20; change++) {
      const next = await ruleTo([9], { protocol, from: rule.from })
      await engine.open(next, rule.id)
      await engine.close(rule.id, null)
      await finalCounters(rule.id)
      rule = next
    }

    t.equal(queryObjects(kind, { format: 'count' }), 1)
  })
