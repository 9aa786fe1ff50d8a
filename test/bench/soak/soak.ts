// Life after life at random, until the time is over: no byte wrong, no descriptor and no memory kept.
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { OpenEngine } from '../../engine/engine-fixture.ts'
import { freePort } from '../../support/ports.ts'
import { scenePorts } from './acts.ts'
import { playEpoch } from './epoch.ts'

export interface SoakOptions {
  readonly openEngine: OpenEngine
  readonly seed: number
  readonly secs: number
  readonly epochSecs: number
  /** It goes on beyond its time until so much has been played. */
  readonly least: Readonly<Record<'talks' | 'changes' | 'kills', number>>
  readonly say: (line: string) => void
}

export interface Soaked {
  readonly talks: number
  readonly whole: number
  readonly changes: number
  readonly hangUps: number
  readonly kills: number // of engines, in the midst of it
  readonly epochs: number
  readonly rssMib: readonly number[] // after each epoch
  readonly wrong: readonly string[]
}

const slackDescriptors = 50 // the last engine, while it is not collected
const slackMib = 600 // what V8 and a sanitizer put aside; a leak of every epoch goes beyond it
const warmEpochs = 5 // the first ones fill pools and heaps

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void // the flag has just put it there

const descriptors = (): number => readdirSync('/proc/self/fd').length

/** The epoch `n` of a seed has the seed + n: to play one again, begin with that. An odd one ends with a kill. */
export async function soak({ openEngine, seed, secs, epochSecs, least, say }: SoakOptions): Promise<Soaked> {
  const total = { talks: 0, whole: 0, changes: 0, hangUps: 0, kills: 0 }
  const firstPort = await freePort(scenePorts)
  const wrong: string[] = []
  const rssMib: number[] = []
  const endsAt = performance.now() + secs * 1_000
  let heldBefore = 0
  let epochs = 0
  const isEnough = () =>
    performance.now() >= endsAt &&
    total.talks >= least.talks &&
    total.changes >= least.changes &&
    total.kills >= least.kills
  for (; wrong.length === 0 && !isEnough(); epochs++) {
    const own = seed + epochs
    const ending = own % 2 === 0 ? 'drain' : 'kill'
    const plan = { seed: own, ms: epochSecs * 1_000, firstPort, ending } as const
    const { wrong: found, ...epoch } = await playEpoch(openEngine, plan)
    for (const figure of ['talks', 'whole', 'changes', 'hangUps'] as const) total[figure] += epoch[figure]
    if (ending === 'kill') total.kills++
    wrong.push(...found.map(what => `seed ${own}: ${what}`))

    collect() // a stopped engine keeps its pipes until it is collected
    const held = descriptors()
    if (epochs === 0) heldBefore = held // Node has opened its own for good
    if (held > heldBefore + slackDescriptors)
      wrong.push(`seed ${own}: ${held} descriptors, ${heldBefore} before`)
    rssMib.push(Math.round(process.memoryUsage.rss() / 2 ** 20))
    const [warm, now = 0] = [Math.max(...rssMib.slice(0, warmEpochs)), rssMib.at(-1)]
    if (now > warm + slackMib) wrong.push(`seed ${own}: ${now} MiB, ${warm} before`)
    say(`seed ${own}, ${ending}: ${JSON.stringify(epoch)}, ${held} descriptors, ${now} MiB`)
  }
  return { ...total, epochs, rssMib, wrong }
}
