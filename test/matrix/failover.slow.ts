// Every kind of rule fails over from a first target that fails in different ways. Real processes.
import t, { type Test } from 'tap'
import { openUnresponsiveTarget } from '../engine/engine-fixture.ts'
import { freePort } from '../support/ports.ts'
import { openTarget } from './callers.ts'
import { failoverKinds, type RuleKind } from './rule-kinds.ts'
import { createRule, type RuleSpec, type TestRule } from './test-rule.ts'
import { engines, openWorld, retryDelay, type Stats, type World } from './world.ts'

type FailedTarget = NonNullable<RuleSpec['firstTarget']>

interface FailureMode {
  readonly name: string
  openTarget(t: Test, kind: RuleKind): Promise<FailedTarget>
  /** `reason` of the logged health change. */
  readonly reason: RegExp
  appliesTo(kind: RuleKind): boolean
}

const host = '127.0.0.1'
const refusingTarget = async ({ portCount }: RuleKind): Promise<FailedTarget> => ({
  host,
  port: await freePort(portCount)
})

const failureModes: readonly FailureMode[] = [
  {
    name: 'refuses',
    openTarget: (_, kind) => refusingTarget(kind),
    reason: /^refused$/,
    appliesTo: () => true
  },
  {
    name: 'is a black hole',
    openTarget: async t => ({ host, port: await openUnresponsiveTarget(t, host) }),
    reason: /^timeout$/,
    appliesTo: ({ protocol, portCount }) => protocol === 'tcp' && portCount === 1
  },
  {
    name: 'has a name that does not exist',
    openTarget: async () => ({ host: 'nowhere.invalid', port: 9 }),
    reason: /^(nxdomain|servfail|timeout)$/, // depends on the DNS servers of this machine
    appliesTo: () => true
  }
]

t.jobs = engines.length

for (const engine of engines)
  t.test(`failover on the ${engine} engine`, { timeout: 240_000, buffered: true, jobs: 12 }, async t => {
    const world = await openWorld(t, engine)
    for (const failureMode of failureModes)
      for (const kind of failoverKinds.filter(failureMode.appliesTo))
        t.test(
          `${kind.name}: a first target that ${failureMode.name} fails over to the second`,
          { buffered: true },
          t => testFailedTarget(t, world, { kind, failureMode })
        )
    for (const kind of failoverKinds) {
      t.test(`${kind.name}: traffic resumes when failed targets return`, { buffered: true }, t =>
        testAllFailed(t, world, kind)
      )
      t.test(`${kind.name}: a first target that recovers takes the traffic back`, { buffered: true }, t =>
        testRecovery(t, world, kind)
      )
    }
  })

interface Rule {
  readonly state: string
  readonly targets: readonly { readonly health: { readonly state: string } }[]
}

async function testFailedTarget(
  t: Test,
  world: World,
  { kind, failureMode }: { readonly kind: RuleKind; readonly failureMode: FailureMode }
): Promise<void> {
  const first = await failureMode.openTarget(t, kind)
  const rule = await createFailoverRule(t, world, kind, first)

  await Promise.all([1, 2, 3].map(() => exchangeOnce(rule)))

  t.match(await healthChange(world, rule, { to: 'failed', target: first }), { reason: failureMode.reason })
  await rule.dial().echo(100)
  t.equal((await waitForHealth(world, rule, 'failed,healthy')).state, 'active')
  await world.waitForReports()
  const stats = await world.call<Stats>('GET', `/v1/rules/${rule.ruleId}/stats?per_target=true`)
  t.match(stats.per_target.at(-1), { bytes_in: rule.received(), bytes_out: rule.echoed() })
  const isUnresolvable = first.host !== host
  t.equal(stats.dns_failures > 0, isUnresolvable, 'failed name lookups are counted')
  // A refused UDP flow ends. Later flows go straight to the second target, which does not count as a failover.
  t.equal(stats.target_failovers > 0, isUnresolvable || kind.protocol === 'tcp', 'failovers are counted')
  t.same(stats.rejected, {})
}

async function testAllFailed(t: Test, world: World, kind: RuleKind): Promise<void> {
  const first = await refusingTarget(kind)
  const rule = await createFailoverRule(t, world, kind, first)
  await exchangeOnce(rule)
  for (const target of rule.targets) target.close()

  const second = { host, port: rule.targets[0]?.port ?? 0 }
  const failed = [first, second].map(target => healthChange(world, rule, { to: 'failed', target }))
  await attemptUntil(rule, Promise.all(failed))
  t.equal((await waitForHealth(world, rule, 'failed,failed')).state, 'active', 'the rule stays active')

  for (const { port } of rule.targets) await openTarget(t, kind.protocol, port)
  if (kind.protocol === 'tcp') await rule.dial().echo(100)
  else await exchangeOnce(rule)
}

async function testRecovery(t: Test, world: World, kind: RuleKind): Promise<void> {
  const first = await refusingTarget(kind)
  const rule = await createFailoverRule(t, world, kind, first)
  await Promise.all([1, 2, 3].map(() => exchangeOnce(rule)))
  await healthChange(world, rule, { to: 'failed', target: first })

  const ports = rule.targets.map((_, i) => first.port + i)
  const back = await Promise.all(ports.map(port => openTarget(t, kind.protocol, port)))
  await attemptUntil(rule, healthChange(world, rule, { to: 'healthy', from: 'failed', target: first }))

  const before = rule.received()
  await rule.dial().echo(100)
  t.equal(rule.received(), before, 'the second target gets no more traffic')
  t.ok(back.some(({ received }) => received() > 0))
}

const createFailoverRule = async (
  t: Test,
  world: World,
  kind: RuleKind,
  first: FailedTarget
): Promise<TestRule> =>
  createRule(t, world, {
    kind,
    firstTarget: first,
    owner: '_operator',
    listenPort: await freePort(kind.portCount)
  })

/** Opens one connection or sends one datagram. Ignores a failure. */
async function attempt({ kind, dial }: TestRule): Promise<void> {
  const caller = dial()
  if (kind.protocol === 'tcp')
    await caller.echo(100).catch(() => {}) // no target is available
  else caller.send(100)
  caller.close()
}

/** Makes attempts until the promise settles. */
async function attemptUntil(rule: TestRule, until: Promise<unknown>): Promise<void> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  until.then(end, end)
  while (!isOver) await Promise.all([attempt(rule), retryDelay()])
  await until
}

/** Sends and waits for the echo. UDP: sends again until one comes back, since a failed target loses datagrams. */
async function exchangeOnce({ kind, dial }: TestRule): Promise<void> {
  const caller = dial()
  if (kind.protocol === 'tcp') return caller.echo(100)
  while (caller.received() === 0) {
    caller.send(100)
    await retryDelay()
  }
}

function healthChange(
  { agentLogged }: World,
  { ruleId }: TestRule,
  { to, from, target }: { readonly to: string; readonly from?: string; readonly target: FailedTarget }
) {
  const name = `${target.host}:${target.port}`
  return agentLogged(
    'rule.target.health_changed',
    event =>
      event['rule'] === ruleId &&
      event['target'] === name &&
      event['to'] === to &&
      (from === undefined || event['from'] === from)
  )
}

async function waitForHealth({ call }: World, { ruleId }: TestRule, states: string): Promise<Rule> {
  for (;;) {
    const rule = await call<Rule>('GET', `/v1/rules/${ruleId}`)
    if (rule.targets.map(({ health }) => health.state).join() === states) return rule
    await retryDelay()
  }
}
