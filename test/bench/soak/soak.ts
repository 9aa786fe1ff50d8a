// Runs engines with random operations, one at a time. Checks all bytes and counters, descriptors and memory.
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { OpenEngine } from '../../engine/engine-fixture.ts'
import { freePort } from '../../support/ports.ts'
import { runEngine } from './engine-run.ts'
import { portCount } from './operations.ts'

export interface SoakOptions {
  readonly openEngine: OpenEngine
  readonly seed: number
  readonly secs: number // of the whole soak
  readonly secsPerRun: number // each run uses a new engine
  /** The soak continues after `secs` until it reaches these counts. */
  readonly atLeast: Readonly<Record<'transfers' | 'changes' | 'kills', number>>
  readonly log: (line: string) => void
}

export interface SoakResult {
  readonly transfers: number
  readonly whole: number
  readonly changes: number
  readonly hangUps: number
  readonly kills: number // engines that were stopped during traffic
  readonly runs: number
  readonly rssMib: readonly number[] // after each run
  readonly failures: readonly string[]
}

const slackDescriptors = 50 // held by the last engine until it is garbage-collected
const slackMib = 600 // for V8 and a sanitizer; a leak in every run exceeds it
const warmupRuns = 5 // the first ones fill pools and heaps

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void // the flag above exposes it

const descriptors = (): number => readdirSync('/proc/self/fd').length

/** Run `n` uses `seed + n`; start with that seed to repeat it. Runs with an odd seed end with a kill. */
export async function soak({
  openEngine,
  seed,
  secs,
  secsPerRun,
  atLeast,
  log
}: SoakOptions): Promise<SoakResult> {
  const total = { transfers: 0, whole: 0, changes: 0, hangUps: 0, kills: 0 }
  const firstPort = await freePort(portCount)
  const failures: string[] = []
  const rssMib: number[] = []
  const endsAt = performance.now() + secs * 1_000
  let descriptorsBefore = 0
  let runs = 0
  const isEnough = () =>
    performance.now() >= endsAt &&
    total.transfers >= atLeast.transfers &&
    total.changes >= atLeast.changes &&
    total.kills >= atLeast.kills
  for (; failures.length === 0 && !isEnough(); runs++) {
    const runSeed = seed + runs
    const ending = runSeed % 2 === 0 ? 'drain' : 'kill'
    const plan = { seed: runSeed, ms: secsPerRun * 1_000, firstPort, ending } as const
    const { failures: found, ...counts } = await runEngine(openEngine, plan)
    for (const name of ['transfers', 'whole', 'changes', 'hangUps'] as const) total[name] += counts[name]
    if (ending === 'kill') total.kills++
    failures.push(...found.map(what => `seed ${runSeed}: ${what}`))

    collect() // a stopped engine holds its pipes until it is garbage-collected
    const open = descriptors()
    if (runs === 0) descriptorsBefore = open // Node has opened all its own descriptors
    if (open > descriptorsBefore + slackDescriptors)
      failures.push(`seed ${runSeed}: ${open} descriptors, ${descriptorsBefore} before`)
    rssMib.push(Math.round(process.memoryUsage.rss() / 2 ** 20))
    const warm = Math.max(...rssMib.slice(0, warmupRuns))
    const now = rssMib.at(-1) ?? 0
    if (now > warm + slackMib) failures.push(`seed ${runSeed}: ${now} MiB, ${warm} before`)
    log(`seed ${runSeed}, ${ending}: ${JSON.stringify(counts)}, ${open} descriptors, ${now} MiB`)
  }
  return { ...total, runs, rssMib, failures }
}
