// Runs one attack against a fresh server, and checks the server during and after the attack.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { spawnChild } from '../support/child-process.ts'
import type { TestFolder } from '../support/test-cluster.ts'
import { token } from '../support/test-cluster.ts'
import { type LatencyStats, probe, probeChanges, watchMemory } from './probe.ts'
import type { Compared } from './quiet-tenant.ts'
import type { AttackName, Phase, Target } from './target.ts'
import { eventsNamed, openWorld, type World } from './world.ts'

interface Outcome {
  readonly did: Readonly<Record<string, number>>
  readonly quiet: LatencyStats // API latency without an attack
  readonly attacked: LatencyStats | null
  readonly quietChanges: LatencyStats // creates of rules of the honest user, without an attack
  readonly changes: LatencyStats | null // during the attack
  readonly tenants: Compared | null // that are quiet, during the rests and rounds of the attack
  readonly exchanges: number // of the honest user during the attack
  readonly memoryMib: {
    readonly before: number
    readonly half: number
    readonly max: number
    readonly end: number
  }
  readonly stopMs: number
  readonly failures: readonly string[]
}

interface Options {
  readonly name: AttackName
  readonly seed: number
  readonly secs: number
}

const warmSecs = 2 // first calls compile code and build the API's document
const quietSecs = 5
/** A tenant can slow the API by password hashes and rule changes. The API must still answer. */
const p99LimitMs: Readonly<Record<AttackName, number>> = {
  agent: 100,
  network: 100,
  tenant: 400,
  bans: 400,
  neighbor: 1_000
}
/**
 * Edges, attacker and measured tenants share the other half of the processors, often a single one. A use waits for it or for
 * the disk up to eight times, each as long as the use 'machine' shows in the same rounds, and for work of others that has
 * begun: a few turns and a sync, or for a change up to 64 changes that the agent has not answered, at about 8 ms each.
 */
const machineSteps = 8
const begunWorkMs = 60
const begunChangesMs = 500
const stopLimitMs = 10_000
/** Server events that no peer may cause. */
const faults = [
  'request.failed',
  'control.handler_failed',
  'control.session_failed',
  'accounting.not_committed',
  'server.crashed',
  'store.broken',
  'plugin.failed'
]

/** Runs an attack in a fresh world. Prints measurements and failures, and returns the failures. */
export async function attackOnce(options: Options): Promise<readonly string[]> {
  const dir = mkdtempSync(join(import.meta.dirname, '.hostile-'))
  const releases: (() => unknown)[] = []
  const teardown = (release: () => unknown): void => void releases.push(release)
  try {
    const { failures, ...outcome } = await attempt({ testdir: () => dir, teardown }, options)
    console.log(`hostile ${options.name}, seed ${options.seed}: ${JSON.stringify(outcome)}`)
    for (const failure of failures) console.error(`hostile ${options.name}: ${failure}`)
    return failures
  } finally {
    for (const release of releases.reverse()) await release()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function attempt(t: TestFolder, { name, seed, secs }: Options): Promise<Outcome> {
  const world = await openWorld(t, { seed, secs })
  const { cluster } = world
  const useWithoutAttack = (secs: number) => {
    const stop = AbortSignal.timeout(secs * 1000)
    return Promise.all([
      probe(cluster, stop),
      probeChanges(world, stop),
      world.traffic(stop),
      world.quiet.use(stop, () => 'changing')
    ])
  }
  await cluster.call('GET', '/v1/openapi.json')
  await useWithoutAttack(warmSecs)
  const [quiet, quietChanges] = await useWithoutAttack(quietSecs)
  let phase: Phase = 'changing'
  let hasRests = false // else there is nothing to compare with
  const attack = new AbortController()
  const { signal } = attack
  const measures = Promise.allSettled([
    probe(cluster, signal),
    probeChanges(world, signal),
    world.quiet.use(signal, () => phase),
    world.traffic(signal),
    watchMemory(cluster.server.pid, signal)
  ])
  const [run] = await Promise.allSettled([
    runAttack(name, world.target, entered => {
      phase = entered
      hasRests = true
      if (entered === 'changing') cluster.server.signal('SIGUSR2') // collects garbage while nothing is measured
    })
  ])
  attack.abort()
  const [attacked, changes, used, exchanges, memory] = await measures
  const failures = [run, attacked, changes, used, exchanges, memory].flatMap(({ status, ...rest }) =>
    status === 'rejected' && 'reason' in rest ? [String(rest.reason)] : []
  )
  failures.push(...(await problemsAfter(world)))
  const mib = resultOf(memory, [])
  const measured = resultOf(attacked, null)
  if (measured) failures.push(...slowness(name, quiet, measured))
  const tenants = resultOf(used, null)
  if (tenants && hasRests) failures.push(...unfairness(tenants))
  failures.push(...growth(mib))
  const stopMs = await stop(world, failures)
  const half = mib[Math.floor(mib.length / 2)] ?? 0
  return {
    did: resultOf(run, {}),
    quiet,
    quietChanges,
    attacked: measured,
    changes: resultOf(changes, null),
    tenants,
    exchanges: resultOf(exchanges, 0),
    memoryMib: { before: mib[0] ?? 0, half, max: Math.max(...mib), end: mib.at(-1) ?? 0 },
    stopMs,
    failures
  }
}

const resultOf = <T>(settled: PromiseSettledResult<T>, otherwise: T): T =>
  settled.status === 'fulfilled' ? settled.value : otherwise

async function runAttack(
  name: AttackName,
  target: Target,
  enter: (phase: Phase) => void
): Promise<Record<string, number>> {
  const child = spawnChild(process.execPath, [join(import.meta.dirname, 'attacker.ts'), name], {
    stdio: 'pipe'
  })
  child.stdin.end(JSON.stringify(target))
  const closed = once(child, 'close')
  const errors = text(child.stderr)
  let did: Record<string, number> = {}
  for await (const line of createInterface(child.stdout)) {
    const said = JSON.parse(line) as { readonly phase?: Phase; readonly did?: typeof did }
    if (said.phase) enter(said.phase)
    if (said.did) did = said.did
  }
  const [code] = await closed
  if (code !== 0) throw new Error(`the attack ended with ${code}: ${(await errors).slice(-4000)}`)
  return did
}

async function problemsAfter(world: World): Promise<string[]> {
  const { cluster, edges } = world
  return [
    ...(await world.counterMismatches()),
    ...(await world.quiet.wrongStats()),
    ...(await brokenRoutes(world)),
    ...eventsNamed(cluster.server, faults),
    ...edges.flatMap(({ agent }) => eventsNamed(agent, ['control.disconnected', ...faults]))
  ]
}

/** Calls every GET route as a superadmin. Returns the failed routes. */
async function brokenRoutes({ cluster, target }: World): Promise<string[]> {
  const { paths } = await cluster.call<{ paths: Record<string, object> }>('GET', '/v1/openapi.json')
  const now = Math.floor(Date.now() / 1000)
  const { victim } = target
  const broken: string[] = []
  for (const path of Object.keys(paths).filter(
    path => 'get' in (paths[path] ?? {}) && !path.endsWith('/stream')
  ))
    for (const [i, clientId] of victim.clientIds.entries()) {
      const filled = path
        .replace('{client_id}', clientId)
        .replace('{rule_id}', victim.ruleIds[i] ?? '')
        .replace(/\{(id|user_id|owner_id)\}/, victim.userId)
      const url = `${cluster.origin}${filled}${/traffic/.test(path) ? `?from=${now - 3600}&to=${now}` : ''}`
      const { status } = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      if (status >= 500) broken.push(`GET ${filled} answers ${status}`)
    }
  return broken
}

/** Compares the latency with the limit, or with a higher one if this machine is slow even without an attack. */
function slowness(name: AttackName, quiet: LatencyStats, attacked: LatencyStats): string[] {
  const limitMs = Math.max(p99LimitMs[name], 3 * quiet.p99Ms)
  return attacked.p99Ms <= limitMs
    ? []
    : [`API p99 is ${attacked.p99Ms} ms, ${quiet.p99Ms} ms without an attack`]
}

/** A neighbor may double the time of each use, compared with the rests between its rounds. */
function unfairness({ alone, attacked }: Compared): string[] {
  return Object.entries(alone).flatMap(([use, { count, p99Ms }]) => {
    const floorMs = machineSteps * attacked.machine.p99Ms + (use === 'change' ? begunChangesMs : begunWorkMs)
    const beside = attacked[use as keyof Compared['attacked']]
    if (count === 0 || beside.count === 0) return [`quiet tenants had no ${use} to compare`]
    const besideMs = beside.p99Ms
    return besideMs <= Math.max(2 * p99Ms, floorMs)
      ? []
      : [`p99 of ${use} is ${besideMs} ms for quiet tenants, ${p99Ms} ms in the rests (floor ${floorMs} ms)`]
  })
}

/** Memory may grow while caches fill, but not during the second half of the attack. */
function growth(mib: readonly number[]): string[] {
  const half = Math.floor(mib.length / 2)
  const first = Math.max(...mib.slice(0, half))
  const second = Math.max(...mib.slice(half))
  return second <= first * 1.2 + 32
    ? []
    : [`memory grows: at most ${first} MiB in the first half, ${second} MiB in the second`]
}

/** Stops server and agents by SIGTERM. Returns how long the server took. */
async function stop({ cluster, edges }: World, failures: string[]): Promise<number> {
  const start = performance.now()
  cluster.server.signal('SIGTERM')
  const code = await cluster.server.exit
  const tookMs = Math.round(performance.now() - start)
  if (code !== 0) failures.push(`the server ended with ${code}`)
  if (tookMs > stopLimitMs) failures.push(`the server stopped after ${tookMs} ms`)
  for (const { agent } of edges) {
    agent.signal('SIGTERM')
    const agentCode = await agent.exit
    if (agentCode !== 0) failures.push(`an agent ended with ${agentCode}`)
  }
  return tookMs
}
