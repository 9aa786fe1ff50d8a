import t from 'tap'
import type { AgentCall, ProbedChange, RuleSpec, TargetProbe } from '../../../agent/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { IdleProbes, type RuleCounters, type Runs } from '../idle-probes.ts'

const ruleOf = (id: string, changed: Partial<RuleSpec> = {}): RuleSpec => ({
  id,
  owner: 'ann',
  protocol: 'tcp',
  from: 80,
  to: 80,
  targets: [{ host: `${id}.test`, port: 80 }],
  preferIpv6: false,
  fields: {},
  ...changed
})

const untouched = {
  bytes: 0,
  failures: 0,
  connects: 0,
  consecutiveFailures: 0,
  lastSuccessAt: null as number | null,
  health: 'unknown'
}

const countersOf = (ruleId: number, { bytes, ...target }: typeof untouched): RuleCounters =>
  ({ ruleId, ports: [{ bytesIn: bytes, bytesOut: 0 }], targets: [target] }) as unknown as RuleCounters

function testProbes(...specs: readonly RuleSpec[]) {
  const clock = fakeClock()
  const rules = new Map(specs.map(spec => [spec.id, { spec, run: 1, counted: untouched }]))
  const closed = new Map<string, string>()
  const changes: string[] = []
  const probed: string[] = [] // 'rule second'
  let failure: TargetProbe['failure'] = null
  let mayProbe = true
  const call = {
    clock,
    rules: {
      closed: () => closed,
      reportProbe: (id: string, { from, to, reason }: ProbedChange) =>
        void changes.push(`${id} ${from} ${to} ${reason}`)
    },
    paths: {
      mayProbeIdle: () => mayProbe,
      async probe(id: string) {
        probed.push(`${id} ${clock.monotonic() / 1000}`)
        return { failure }
      }
    }
  } as unknown as AgentCall
  const probes = new IdleProbes(call, () => 0.6) // 15 s after a rule is seen first
  const runs = (): Runs =>
    new Map(
      [...rules].map(([id, { spec, run, counted }]) => [id, { spec, counters: countersOf(run, counted) }])
    )
  const change = (id: string, changed: object): void => {
    const rule = rules.get(id)
    if (rule) rules.set(id, { ...rule, ...changed })
  }
  probes.observe(runs())
  return {
    probes,
    probed,
    changes,
    closed,
    change,
    count: (id: string, counted: Partial<typeof untouched>) =>
      change(id, { counted: { ...rules.get(id)?.counted, ...counted } }),
    answer(reason: string | null): void {
      failure = reason
    },
    forbid(): void {
      mayProbe = false
    },
    async pass(secs: number): Promise<void> {
      for (let sec = 0; sec < secs; sec++) {
        await clock.advance(1000)
        if (clock.monotonic() % 5000 === 0) probes.observe(runs())
        probes.tick()
      }
      await clock.advance(0)
    }
  }
}

t.test('a rule without traffic is probed within 30 s after it opens, then every 30 s', async t => {
  const { pass, probed, probes } = testProbes(ruleOf('one'))

  await pass(90)

  t.same(probed, ['one 15', 'one 45', 'one 75'])
  t.match(probes.find('one')?.result, { failure: null })
  t.match(probes.counts(), { reached: 3, failed: 0, waiting: 0 })
})

t.test('a rule with traffic is probed when it has had none for 30 s', async t => {
  const { pass, probed, count } = testProbes(ruleOf('one'))
  await pass(4)
  count('one', { connects: 1, lastSuccessAt: 1, health: 'healthy', bytes: 100 })
  await pass(18)
  count('one', { bytes: 200 }) // seen at 25 s

  await pass(32)
  t.same(probed, [])
  await pass(25)

  t.same(probed, ['one 75'])
})

t.test('UDP rules, rules with health checks and closed rules are not probed', async t => {
  const udp = ruleOf('udp', { protocol: 'udp' })
  const checked = ruleOf('checked', { fields: { health_check_interval_secs: new Uint8Array() } })
  const { pass, probed, closed, probes } = testProbes(udp, checked, ruleOf('paused'))
  await pass(20)
  t.same(probed, ['paused 15'])

  closed.set('paused', 'paused')
  await pass(40)
  t.same(probed, ['paused 15'])
  t.equal(probes.find('paused'), undefined)
  closed.delete('paused')
  await pass(25)

  t.same(probed, ['paused 15', 'paused 80']) // it is seen again at 65 s
})

t.test('idle_probe = false ends the probes and forgets their results', async t => {
  const { pass, probed, forbid, probes } = testProbes(ruleOf('one'))
  await pass(20)

  forbid()
  await pass(60)

  t.same(probed, ['one 15'])
  t.equal(probes.find('one'), undefined)
})

t.test('a failed probe is reported once, with its reason, and so is the recovery', async t => {
  const { pass, changes, answer, probes } = testProbes(ruleOf('one'))
  await pass(20)
  t.same(changes, [], 'that a target is reachable is no news')

  answer('dns_nxdomain')
  await pass(60)
  t.same(changes, ['one unknown failed dns_nxdomain'])
  t.match(probes.find('one'), { result: { failure: 'dns_nxdomain' }, failures: 2 })
  answer(null)
  await pass(30)

  t.same(changes.slice(1), ['one failed healthy connected'])
  t.match(probes.find('one'), {
    result: { failure: null },
    failures: 0,
    lastFailureAt: Number,
    lastSuccessAt: Number
  })
})

t.test('a caller that connects outweighs the failed probe before it', async t => {
  const { pass, changes, answer, count, probes } = testProbes(ruleOf('one'))
  answer('timeout')
  await pass(20)
  t.match(probes.find('one')?.result, { failure: 'timeout' })

  count('one', { connects: 1, lastSuccessAt: 1, health: 'healthy' })
  await pass(5)

  t.equal(probes.find('one')?.result, null)
  t.same(changes, ['one unknown failed timeout', 'one failed healthy connected'])
})

t.test('bytes of old connections do not delay the probe of a target that is down', async t => {
  const { pass, answer, count, probed } = testProbes(ruleOf('one'))
  answer('refused')
  await pass(20)
  for (let sec = 0; sec < 30; sec += 5) {
    count('one', { bytes: sec + 1 })
    await pass(5)
  }

  t.same(probed, ['one 15', 'one 45'])
})

t.test('a new run of a rule keeps the result for its first target, and another target loses it', async t => {
  const { pass, change, answer, probes } = testProbes(ruleOf('one'))
  answer('refused')
  await pass(20)

  change('one', { run: 2 })
  await pass(5)
  t.match(probes.find('one')?.result, { failure: 'refused' })
  change('one', { run: 3, spec: ruleOf('one', { targets: [{ host: 'other.test', port: 80 }] }) })
  await pass(5)

  t.same(probes.find('one'), { result: null, failures: 0, lastFailureAt: null, lastSuccessAt: null })
})

t.test('the health that callers have found is known when a probe reports a change', async t => {
  const { pass, changes, answer, probes } = testProbes(ruleOf('one'))
  probes.changed('one', 'failed')
  answer('refused')
  await pass(20)
  t.same(changes, [])

  answer(null)
  await pass(30)

  t.same(changes, ['one failed healthy connected'])
})

t.test('failures of callers and probes in a row are counted together, up to a success', async t => {
  const { pass, answer, count, probes } = testProbes(ruleOf('one'))
  count('one', { failures: 2, consecutiveFailures: 2 })
  answer('refused')
  await pass(50)
  t.equal(probes.find('one')?.failures, 3)

  answer(null)
  await pass(30)
  answer('refused')
  await pass(30)

  t.equal(probes.find('one')?.failures, 1)
})
