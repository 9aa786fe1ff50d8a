// UDP: checks of a caller's address, and caps on replies.
import { type EngineCase, engineFixture, portCounters, until } from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

const cap = { ratio: 3, provenAfter: 0, refusal: 'amplification' } as const
const large = (bytes: Buffer) => Buffer.alloc(bytes.length * 4)

export const udpGuards: Record<string, EngineCase> = {
  async 'a set of addresses applies to the first datagram, and a change ends flows'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const guard = { allow: null, deny: ['bans'], live: 'reset', refusal: 'source_banned' } as const
    const rule = await openUdpRule(engine, [target.port], { addressGuards: [guard] })
    const caller = await openUdpCaller(t, rule.from)
    await caller.exchange('hello')

    engine.changeAddresses('bans', { add: ['127.0.0.1'], remove: [] })
    await until(() => portCounters(counters()).active === 0)
    caller.send('more')
    await until(() => counters().rejected.source_banned === 2)
  },

  async 'a source is limited to its maximum of flows'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const limit = { name: 'a', of: 'open', max: 1, perMs: 1, refusal: 'source_limit' } as const
    const rule = await openUdpRule(engine, [target.port], { sourceLimits: [limit], idleMs: 300 })
    const one = await openUdpCaller(t, rule.from)
    const two = await openUdpCaller(t, rule.from)
    await one.exchange('one')
    two.send('two')
    await until(() => counters().rejected.source_limit === 1)
    await (await openUdpCaller(t, rule.from, '::1')).exchange('another')
    await until(() => portCounters(counters()).active === 0)
    t.equal(await two.exchange('now'), 'now')
  },

  async 'replies above the ratio to the requests are dropped and counted'(t, openEngine) {
    const target = await openUdpTarget(t, large)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { replyCap: cap })
    const caller = await openUdpCaller(t, rule.from)

    caller.send('1234567890')
    await until(() => counters().rejected.amplification === 1)
    t.equal(portCounters(counters()).datagramsOut, 0)
    caller.send(Buffer.alloc(10)) // 20 bytes allow a reply of 40
    await until(() => caller.received.length === 1)
    t.match(counters().rejected, { amplification: 1 })
    t.equal(portCounters(counters()).bytesOut, 40)
  },

  async 'the cap ends once enough exchanges prove the caller'(t, openEngine) {
    const sizes = [10, 10, 10_000]
    const target = await openUdpTarget(t, () => Buffer.alloc(sizes.shift() ?? 1))
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { replyCap: { ...cap, provenAfter: 2 } })
    const caller = await openUdpCaller(t, rule.from)

    for (const size of [10, 10, 10_000]) t.equal((await caller.exchange('1234567890')).length, size)
    t.match(counters().rejected, {})
  }
}
