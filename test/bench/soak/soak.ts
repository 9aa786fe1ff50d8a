// Life after life at random, until the time is over: no byte wrong, no descriptor and no memory kept.
import { readdirSync } from 'node:fs'
import type { OpenEngine } from '../../engine/rig.ts'
import { playEpoch } from './epoch.ts'

export interface SoakOptions {
  readonly openEngine: OpenEngine
  readonly seed: number
  readonly secs: number
  readonly epochSecs: number
  readonly say: (line: string) => void
}

export interface Soaked {
  readonly talks: number
  readonly whole: number
  readonly changes: number
  readonly kills: number
  readonly epochs: number
  readonly rssMib: readonly number[] // after each epoch
  readonly wrong: readonly string[]
}

const descriptors = (): number => readdirSync('/proc/self/fd').length

/** The epoch `n` of a seed has the seed + n: to play one again, begin with that. */
export async function soak({ openEngine, seed, secs, epochSecs, say }: SoakOptions): Promise<Soaked> {
  const total = { talks: 0, whole: 0, changes: 0, kills: 0 }
  const wrong: string[] = []
  const rssMib: number[] = []
  const endsAt = performance.now() + secs * 1_000
  let epochs = 0
  let before = 0
  for (; performance.now() < endsAt && wrong.length === 0; epochs++) {
    const ending = epochs % 2 === 0 ? 'drain' : 'kill'
    const ms = Math.min(epochSecs * 1_000, endsAt - performance.now())
    const { wrong: found, ...epoch } = await playEpoch(openEngine, { seed: seed + epochs, ms, ending })
    for (const figure of ['talks', 'whole', 'changes', 'kills'] as const) total[figure] += epoch[figure]
    wrong.push(...found.map(what => `seed ${seed + epochs}: ${what}`))
    const held = descriptors()
    if (epochs === 0)
      before = held // what the first one opened for good, Node's own
    else if (held > before) wrong.push(`seed ${seed + epochs}: ${held - before} descriptors are left over`)
    rssMib.push(Math.round(process.memoryUsage.rss() / 2 ** 20))
    say(
      `seed ${seed + epochs}, ${ending}: ${JSON.stringify(epoch)}, ${held} descriptors, ${rssMib.at(-1)} MiB`
    )
  }
  return { ...total, epochs, rssMib, wrong }
}
