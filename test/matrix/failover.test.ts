// Every kind of rule with a second target, and each way in which the first can be gone, through real processes.
import t, { type Test } from 'tap'
import { openUnresponsiveTarget } from '../engine/engine-fixture.ts'
import { freePort } from '../support/ports.ts'
import { openTarget } from './callers.ts'
import { type Kind, several } from './kinds.ts'
import { type Placed, place, type Spot } from './place.ts'
import { engines, openWorld, type Stats, soon, type World } from './world.ts'

type Gone = NonNullable<Spot['first']>

interface Trouble {
  readonly name: string
  first(t: Test, kind: Kind): Promise<Gone>
  /** In the log, of the target's health. */
  readonly reason: RegExp
  fits(kind: Kind): boolean
}

const host = '127.0.0.1'
const refusing = async ({ width }: Kind): Promise<Gone> => ({ host, port: await freePort(width) })

const troubles: readonly Trouble[] = [
  { name: 'refuses', first: (_, kind) => refusing(kind), reason: /^refused$/, fits: () => true },
  {
    name: 'is a black hole',
    first: async t => ({ host, port: await openUnresponsiveTarget(t, host) }),
    reason: /^timeout$/,
    fits: ({ protocol, width }) => protocol === 'tcp' && width === 1
  },
  {
    name: 'has a name that nobody knows',
    first: async () => ({ host: 'nowhere.invalid', port: 9 }),
    reason: /^(nxdomain|servfail|timeout)$/, // as the machine's own servers see it
    fits: () => true
  }
]

t.jobs = engines.length

for (const engine of engines)
  t.test(`failover on the ${engine} engine`, { timeout: 240_000, buffered: true, jobs: 12 }, async t => {
    const world = await openWorld(t, engine)
    for (const trouble of troubles)
      for (const kind of several.filter(trouble.fits))
        t.test(`${kind.name}: a target that ${trouble.name} is left out`, { buffered: true }, t =>
          leavesOut(t, world, { kind, trouble })
        )
    for (const kind of several) {
      t.test(`${kind.name}: all targets are gone, and one comes back`, { buffered: true }, t =>
        allGone(t, world, kind)
      )
      t.test(`${kind.name}: the first target comes back`, { buffered: true }, t => comesBack(t, world, kind))
    }
  })

interface Rule {
  readonly state: string
  readonly targets: readonly { readonly health: { readonly state: string } }[]
}

async function leavesOut(
  t: Test,
  world: World,
  { kind, trouble }: { readonly kind: Kind; readonly trouble: Trouble }
): Promise<void> {
  const first = await trouble.first(t, kind)
  const placed = await stand(t, world, kind, first)

  await Promise.all([1, 2, 3].map(() => served(placed)))

  t.match(await told(world, placed, { to: 'failed', target: first }), { reason: trouble.reason })
  await placed.dial().say(100)
  t.equal((await until(world, placed, 'failed,healthy')).state, 'active')
  await world.settle()
  const stats = await world.call<Stats>('GET', `/v1/rules/${placed.ruleId}/stats?per_target=true`)
  t.match(stats.per_target.at(-1), { bytes_in: placed.received(), bytes_out: placed.heard() })
  const isNameless = first.host !== host
  t.equal(stats.dns_failures > 0, isNameless, 'names that are not found are counted')
  // A flow that is refused ends; the next one dials the second target only.
  t.equal(stats.target_failovers > 0, isNameless || kind.protocol === 'tcp', 'so are failovers')
  t.same(stats.rejected, {})
}

async function allGone(t: Test, world: World, kind: Kind): Promise<void> {
  const first = await refusing(kind)
  const placed = await stand(t, world, kind, first)
  await served(placed)
  for (const target of placed.targets) target.close()

  const second = { host, port: placed.targets[0]?.port ?? 0 }
  const failed = [first, second].map(target => told(world, placed, { to: 'failed', target }))
  await keepTrying(placed, Promise.all(failed))
  t.equal((await until(world, placed, 'failed,failed')).state, 'active', 'the rule stays')

  for (const { port } of placed.targets) await openTarget(t, kind.protocol, port)
  if (kind.protocol === 'tcp') await placed.dial().say(100)
  else await served(placed)
}

async function comesBack(t: Test, world: World, kind: Kind): Promise<void> {
  const first = await refusing(kind)
  const placed = await stand(t, world, kind, first)
  await Promise.all([1, 2, 3].map(() => served(placed)))
  await told(world, placed, { to: 'failed', target: first })

  const ports = placed.targets.map((_, i) => first.port + i)
  const back = await Promise.all(ports.map(port => openTarget(t, kind.protocol, port)))
  await keepTrying(placed, told(world, placed, { to: 'healthy', from: 'failed', target: first }))

  const before = placed.received()
  await placed.dial().say(100)
  t.equal(placed.received(), before, 'the second has nothing to do')
  t.ok(back.some(({ received }) => received() > 0))
}

const stand = async (t: Test, world: World, kind: Kind, first: Gone): Promise<Placed> =>
  place(t, world, { kind, first, owner: '_operator', listenPort: await freePort(kind.width) })

/** One connection, or one datagram. */
async function attempt({ kind, dial }: Placed): Promise<void> {
  const caller = dial()
  if (kind.protocol === 'tcp')
    await caller.say(100).catch(() => {}) // nobody is there
  else caller.flood(100)
  caller.close()
}

async function keepTrying(placed: Placed, until: Promise<unknown>): Promise<void> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  until.then(end, end)
  while (!isOver) await Promise.all([attempt(placed), soon()])
  await until
}

/** Whoever sends datagrams sends them again: what went to a target that is gone is lost. */
async function served({ kind, dial }: Placed): Promise<void> {
  const caller = dial()
  if (kind.protocol === 'tcp') return caller.say(100)
  while (caller.heard() === 0) {
    caller.flood(100)
    await soon()
  }
}

function told(
  { agentSays }: World,
  { ruleId }: Placed,
  { to, from, target }: { readonly to: string; readonly from?: string; readonly target: Gone }
) {
  const name = `${target.host}:${target.port}`
  return agentSays(
    'rule.target.health_changed',
    event =>
      event['rule'] === ruleId &&
      event['target'] === name &&
      event['to'] === to &&
      (from === undefined || event['from'] === from)
  )
}

async function until({ call }: World, { ruleId }: Placed, states: string): Promise<Rule> {
  for (;;) {
    const rule = await call<Rule>('GET', `/v1/rules/${ruleId}`)
    if (rule.targets.map(({ health }) => health.state).join() === states) return rule
    await soon()
  }
}
