// A server with the user ann, and an agent with two of her rules. The test controls quota, clocks and traffic.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { writeBundle } from '../../../agent/stream/bundle.ts'
import { type FakeClock, fakeClock } from '../../../kit/fake-clock.ts'
import { bundleOf, startTestAgent, type TestAgent } from '../../../test/agent/test-agent.ts'
import rules from '../../rules/agent.ts'
import { rulesFixture } from '../../rules/test/fixture.ts'
import stats from '../../stats/agent.ts'
import quota from '../agent.ts'
import { Quota } from '../entities.ts'
import { plugins } from './fixture.ts'

export const ports = [8001, 8002]

export type AgreementFixture = Awaited<ReturnType<typeof agreementFixture>>

/** `agentAheadMs`: of the agent's wall clock, at each of its starts. */
export async function agreementFixture(t: Test, { agentAheadMs = 0 } = {}) {
  const serverClock = fakeClock()
  const fixture = await rulesFixture(t, { plugins, clock: serverClock })
  const { control, store } = fixture.server.depsOf('quota')
  const dir = t.testdir({ agent: {} })
  const clientId = await fixture.enroll('edge')
  await fixture.user('ann')
  const server = { endpoint: `127.0.0.1:${control.port()}`, fingerprint: control.fingerprint }
  writeBundle(join(dir, 'agent', 'bundle.json'), { ...bundleOf(server, clientId), client_id: clientId })
  const startAgent = (): TestAgent => {
    const clock = fakeClock(serverClock.now() + agentAheadMs)
    return startTestAgent(t, { dir: join(dir, 'agent'), server, plugins: [quota, rules, stats], clock })
  }
  let agent = startAgent()
  const { advance, advanceUntilDone } = openClocks(serverClock, () => agent.clock)
  const traffic = openTraffic(() => agent)

  const isConnected = (): boolean => control.peers.find(clientId) !== undefined
  async function untilReady(): Promise<void> {
    while (!isConnected() || agent.engine.rules.size !== ports.length) await advance(50)
  }
  for (const listen_port of ports) {
    while (!isConnected()) await advance(50)
    await advanceUntilDone(fixture.push({ client: clientId, listen_port, owner: 'ann' }))
  }

  return {
    advance,
    untilReady,
    serverClock,
    agent: () => agent,
    store,
    deliver: traffic.deliver,
    remaining: traffic.remaining,
    send: (method: 'PUT' | 'PATCH' | 'DELETE', body?: object) =>
      advanceUntilDone(fixture.call(method, `/v1/users/ann/quotas/${clientId}`, body)),
    row: () => store.read(em => em.findOneOrFail(Quota, { clientId })),
    cutStream: () => control.peers.find(clientId)?.end('test'),
    copyState: () => cpSync(join(dir, 'agent'), join(dir, 'copy'), { recursive: true }),
    /** Restarts the agent; 'copied': with the state that `copyState` saved. */
    async restartAgent(state: 'own' | 'copied' = 'own'): Promise<void> {
      await advanceUntilDone(agent.stop())
      traffic.reset()
      if (state === 'copied') {
        rmSync(join(dir, 'agent'), { recursive: true })
        cpSync(join(dir, 'copy'), join(dir, 'agent'), { recursive: true })
      }
      agent = startAgent()
      await untilReady()
    },
    async untilIdle(): Promise<void> {
      await untilReady()
      await advance(11_000)
    }
  }
}

/** Advances the clocks of server and agent together. */
function openClocks(server: FakeClock, agent: () => FakeClock) {
  async function advance(ms: number): Promise<void> {
    for (let remaining = ms; remaining > 0; remaining -= 50)
      await Promise.all([server.advance(50), agent().advance(50)])
  }

  /** Advances both clocks until the promise settles, because both sides wait on timers. */
  async function advanceUntilDone<T>(work: Promise<T>): Promise<T> {
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    while (!isDone) await advance(50)
    return done
  }

  return { advance, advanceUntilDone }
}

/** Traffic of the agent that runs, through its fake engine. */
function openTraffic(agent: () => TestAgent) {
  const bytesByRule = new Map<number, number>() // by the rule's id in the engine

  /** Delivers like the engine: at most the bytes below the mark of the budget. Returns the bytes delivered. */
  function deliver(port: number, wanted: number): number {
    const { engine } = agent()
    const rule = [...engine.rules.values()].find(({ from }) => from === port)
    const [meterId = 0] = rule?.meters ?? []
    const meter = engine.sample().meters.find(({ id }) => id === meterId)
    if (!rule || !meter) return 0
    const mark = engine.budgets.get(meterId)?.mark ?? Number.MAX_VALUE
    const bytes = Math.max(0, Math.min(wanted, mark - meter.bytesIn - meter.bytesOut))
    const bytesIn = (bytesByRule.get(rule.id) ?? 0) + bytes
    bytesByRule.set(rule.id, bytesIn)
    engine.setCounters(rule.id, {
      ports: [{ port, bytesIn, bytesOut: 0, datagramsIn: 0, datagramsOut: 0, active: 0 }]
    })
    engine.setMeterCounters(meterId, { bytesIn: meter.bytesIn + bytes })
    return bytes
  }

  /** Returns the remaining bytes, or null without a limit. */
  function remaining(): number | null {
    const { engine } = agent()
    const [[meterId, budget] = []] = [...engine.budgets]
    const meter = engine.sample().meters.find(({ id }) => id === meterId)
    return budget && meter ? budget.mark - meter.bytesIn - meter.bytesOut : null
  }

  return { deliver, remaining, reset: () => bytesByRule.clear() }
}
