// How many bytes a quota lets through beyond its size, at full speed: real server, real agents, live connections.
//   node test/bench/quota-overshoot.ts [--connections 1,10,100] [--mib 200] [--patches 1000]
//     [--ways 'native, splice;native, copying;portable'] [--kinds plain,SNI,UDP]
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { allowed, exhaust, type Overshoot, race } from './overshoot/measure.ts'
import { type Kind, kinds, openStage, type Way, ways } from './overshoot/stage.ts'

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '1,10,100' },
    mib: { type: 'string', default: '200' },
    patches: { type: 'string', default: '1000' },
    ways: { type: 'string', default: Object.keys(ways).join(';') },
    kinds: { type: 'string', default: kinds.join(',') }
  }
})
const counts = values.connections.split(',').map(Number)
const size = Number(values.mib) * 1024 * 1024
const wantedWays = values.ways.split(';') as Way[]
const wantedKinds = values.kinds.split(',') as Kind[]
const racing = 4 // connections

const dir = mkdtempSync(join(import.meta.dirname, '.overshoot-'))
const releases: (() => unknown)[] = []
const ground = {
  testdir: () => dir,
  teardown: (release: () => unknown) => void releases.push(release)
}

interface Cell {
  readonly what: string
  readonly count: number
  readonly over: Overshoot
  readonly isHeard: boolean // else what the engine delivers may be dropped by the receiver's system
}

async function main(): Promise<void> {
  const stage = await openStage(ground as unknown as Parameters<typeof openStage>[0], wantedWays)
  const cells: Cell[] = []
  for (const way of wantedWays)
    for (const kind of wantedKinds)
      for (const count of counts) {
        const place = await stage.place(way, kind, `user-${cells.length}`)
        const over = await exhaust(place, count, size)
        cells.push({ what: `${way} | ${kind}`, count, over, isHeard: kind !== 'UDP' })
      }
  let most = 0
  console.log('| engine | rule | connections, flows | bytes over | of them received |')
  console.log('|---|---|---|---|---|')
  for (const { what, count, over, isHeard } of cells) {
    const booked = await over.booked()
    most = Math.max(most, booked / count, isHeard ? over.received / count : 0)
    console.log(`| ${what} | ${count} | ${booked} | ${isHeard ? Math.max(0, over.received) : ''} |`)
  }
  for (const way of wantedWays) {
    const place = await stage.place(way, 'plain', `race-${wantedWays.indexOf(way)}`)
    const { over, lost } = await race(place, Number(values.patches), racing)
    most = Math.max(most, Math.round(over / racing))
    console.log(
      `${way}: ${values.patches} changes under ${racing} connections: ${over} bytes over, ${lost} lost`
    )
    if (lost !== 0) process.exitCode = 1
  }
  if (most > allowed) process.exitCode = 1
}

await main().finally(async () => {
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true, force: true })
})
