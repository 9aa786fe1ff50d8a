// Server and agent count with separate clocks, and must always agree on the remaining bytes.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { writeBundle } from '../../../agent/link/bundle.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { bundleOf, startTestAgent, type TestAgent } from '../../../test/agent/test-agent.ts'
import rules from '../../rules/agent.ts'
import { rulesFixture } from '../../rules/test/fixture.ts'
import stats from '../../stats/agent.ts'
import quota from '../agent.ts'
import { Quota } from '../entities.ts'
import { plugins } from './fixture.ts'

/** Returns a generator with the same numbers in every run. */
function openRandom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

const ports = [8001, 8002]

/** A server with a quota of ann, and an agent with two of her rules. The test controls clocks and traffic. */
async function startSystem(t: Test) {
  const server = fakeClock()
  const fixture = await rulesFixture(t, { plugins, clock: server })
  const { control, store } = fixture.server.depsOf('quota')
  const dir = t.testdir({ agent: {} })
  const clientId = await fixture.enroll('edge')
  await fixture.user('ann')
  const at = { endpoint: `127.0.0.1:${control.port()}`, fingerprint: control.fingerprint }
  writeBundle(join(dir, 'agent', 'bundle.json'), { ...bundleOf(at, clientId), client_id: clientId })
  const begin = (): TestAgent =>
    startTestAgent(t, { dir: join(dir, 'agent'), server: at, plugins: [quota, rules, stats] })
  let on = begin()

  async function advance(ms: number): Promise<void> {
    for (let remaining = ms; remaining > 0; remaining -= 50)
      await Promise.all([server.advance(50), on.clock.advance(50)])
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
  const isReady = (): boolean =>
    control.peers.find(clientId) !== undefined && on.engine.rules.size === ports.length
  const untilReady = async (): Promise<void> => {
    while (!isReady()) await advance(50)
  }
  for (const listen_port of ports) {
    while (!control.peers.find(clientId)) await advance(50)
    await advanceUntilDone(fixture.push({ client: clientId, listen_port, owner: 'ann' }))
  }

  const passed = new Map<number, number>() // by rule of the engine that runs
  /** Delivers as the engine would: at most the bytes below the mark of the budget. Returns the bytes delivered. */
  function deliver(port: number, wanted: number): number {
    const { engine } = on
    const rule = [...engine.rules.values()].find(({ from }) => from === port)
    const [meterId = 0] = rule?.meters ?? []
    const meter = engine.sample().meters.find(({ id }) => id === meterId)
    if (!rule || !meter) return 0
    const total = meter.bytesIn + meter.bytesOut
    const bytes = Math.max(
      0,
      Math.min(wanted, (engine.budgets.get(meterId)?.mark ?? Number.MAX_VALUE) - total)
    )
    const bytesIn = (passed.get(rule.id) ?? 0) + bytes
    passed.set(rule.id, bytesIn)
    engine.setCounters(rule.id, {
      ports: [{ port, bytesIn, bytesOut: 0, datagramsIn: 0, datagramsOut: 0, active: 0 }]
    })
    engine.setMeterCounters(meterId, { bytesIn: meter.bytesIn + bytes })
    return bytes
  }
  /** Returns the remaining bytes, or null without a limit. */
  function remaining(): number | null {
    const [[meterId, budget] = []] = [...on.engine.budgets]
    const meter = on.engine.sample().meters.find(({ id }) => id === meterId)
    return budget && meter ? budget.mark - meter.bytesIn - meter.bytesOut : null
  }

  return {
    clientId,
    advance,
    advanceUntilDone,
    untilReady,
    deliver,
    remaining,
    send: (method: 'PUT' | 'PATCH' | 'DELETE', body?: object) =>
      advanceUntilDone(fixture.call(method, `/v1/users/ann/quotas/${clientId}`, body)),
    row: () => store.read(em => em.findOneOrFail(Quota, { clientId }, { disableIdentityMap: true })),
    cutStream: () => control.peers.find(clientId)?.end('test'),
    copyState: () => cpSync(join(dir, 'agent'), join(dir, 'copy'), { recursive: true }),
    /** With `copied`, restores the state saved by `copyState` before the start. */
    async restartAgent(state: 'own' | 'copied' = 'own'): Promise<void> {
      await advanceUntilDone(on.stop())
      passed.clear()
      if (state === 'copied') {
        rmSync(join(dir, 'agent'), { recursive: true })
        cpSync(join(dir, 'copy'), join(dir, 'agent'), { recursive: true })
      }
      const clock = on.clock.now()
      on = begin()
      await on.clock.advance(clock - on.clock.now())
      await untilReady()
    },
    async untilIdle(): Promise<void> {
      await untilReady()
      await advance(11_000)
    }
  }
}

type System = Awaited<ReturnType<typeof startSystem>>

async function assertAgreement({ untilIdle, row, remaining }: System, t: Test, label: string): Promise<void> {
  await untilIdle()
  const { monthlyBytes, used, credit } = await row()
  t.equal(remaining(), Math.max(0, monthlyBytes - used + credit), label)
}

t.test('across changes, traffic, lost streams and restarts no byte is lost or granted twice', async t => {
  const random = openRandom(11)
  const on = await startSystem(t)
  on.deliver(8001, 12_345) // before the quota
  await on.send('PUT', { monthly_bytes: 10_000 })
  let delivered = 0

  const steps: (() => unknown)[] = [
    () => on.send('PATCH', { monthly_bytes: random(50_000) }),
    () => on.send('PUT', { monthly_bytes: random(90_000) }),
    () => on.send('PATCH', { clear_period_usage: true }),
    () => on.advance(random(7000)),
    () => on.advance(random(400)),
    () => on.cutStream(),
    () => (random(4) === 0 ? on.restartAgent() : on.untilReady())
  ]
  for (let run = 0; run < 120; run++) {
    const racing = steps[random(steps.length)]?.()
    for (let i = random(4); i > 0; i--) {
      delivered += on.deliver(ports[random(2)] ?? 0, random(9000))
      await new Promise(resolve => setImmediate(resolve))
    }
    await racing
    if (run % 10 !== 9) continue
    await assertAgreement(on, t, `after ${run + 1} steps`)
    t.equal((await on.row()).used, delivered, 'all delivered bytes are committed')
  }
})

t.test('server and agent end a month at the same byte', async t => {
  const on = await startSystem(t)
  await on.send('PUT', { monthly_bytes: 10_000, billing_anchor: Date.UTC(2025, 11, 15, 12, 2) / 1000 })
  on.deliver(8001, 6000)
  await on.advance(20_000)
  await assertAgreement(on, t, 'before')

  for (let i = 0; i < 200; i++) {
    on.deliver(8002, 20)
    await on.advance(1000)
  }

  await assertAgreement(on, t, 'after')
  t.ok((await on.row()).used < 6000, 'of the new month alone')
  on.deliver(8001, 1_000_000)
  await assertAgreement(on, t, 'at its end')
  t.equal((await on.row()).used, 10_000)
})

t.test('an agent with restored state grants nothing twice', async t => {
  const on = await startSystem(t)
  await on.send('PUT', { monthly_bytes: 10_000 })
  on.deliver(8001, 1000)
  await on.advance(2300)
  on.copyState()
  on.deliver(8001, 5000)
  await on.advance(20_000)
  t.equal(on.remaining(), 4000)

  await on.restartAgent('copied')

  await assertAgreement(on, t, 'after')
  t.equal(on.remaining(), 4000)
})
