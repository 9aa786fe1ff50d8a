// Balance: how flows spread over targets.
import { type EngineCase, engineFixture } from '../engine-fixture.ts'
import { balanced } from './balance.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

export const udpBalance: Record<string, EngineCase> = {
  async 'a flow keeps its target; new flows go to the next targets'(t, openEngine) {
    const targets = await Promise.all(['a', 'b'].map(name => openUdpTarget(t, () => name)))
    const { engine, counters } = engineFixture(t, openEngine)
    const balance = balanced('least_connections', [1, 1])
    const ports = targets.map(({ port }) => port)
    const rule = await openUdpRule(engine, ports, { balance })

    let all = ''
    for (let flow = 0; flow < 6; flow++) {
      const caller = await openUdpCaller(t, rule.from)
      const target = await caller.exchange('hello')
      all += target
      t.equal(await caller.exchange('hello again'), target)
    }

    t.equal(all.split('a').length, 4, all)
    t.match(counters().targets, [{ active: 3 }, { active: 3 }])
    await engine.close(rule.id, 0)
  }
}
