// Measures how many bytes pass beyond a quota at full speed, with a real server, real agents and live connections.
//   node test/bench/quota-overshoot.ts [--connections 1,10,100] [--mib 200] [--patches 1000]
//     [--modes 'native, splice;native, copying;portable'] [--kinds plain,SNI,UDP]
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { allowedBytes, exhaust, type Overshoot, race } from './overshoot/measure-overshoot.ts'
import {
  type EngineMode,
  engineModes,
  overshootFixture,
  type RuleKind,
  ruleKinds
} from './overshoot/overshoot-fixture.ts'

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '1,10,100' },
    mib: { type: 'string', default: '200' },
    patches: { type: 'string', default: '1000' },
    modes: { type: 'string', default: Object.keys(engineModes).join(';') },
    kinds: { type: 'string', default: ruleKinds.join(',') }
  }
})
const counts = values.connections.split(',').map(Number)
const size = Number(values.mib) * 1024 * 1024
const modes = values.modes.split(';') as EngineMode[]
const kinds = values.kinds.split(',') as RuleKind[]
const raceConnections = 4

const dir = mkdtempSync(join(import.meta.dirname, '.overshoot-'))
const releases: (() => unknown)[] = []
const context = {
  testdir: () => dir,
  teardown: (release: () => unknown) => void releases.push(release)
}

interface Row {
  readonly label: string
  readonly count: number
  readonly over: Overshoot
  readonly isReliable: boolean // UDP: the receiver's system may drop delivered datagrams
}

async function main(): Promise<void> {
  const fixture = await overshootFixture(context, modes)
  const rows: Row[] = []
  for (const mode of modes)
    for (const kind of kinds)
      for (const count of counts) {
        const rule = await fixture.openRule(mode, kind, `user-${rows.length}`)
        const over = await exhaust(rule, count, size)
        rows.push({ label: `${mode} | ${kind}`, count, over, isReliable: kind !== 'UDP' })
      }
  let maxOver = 0
  console.log('| engine | rule | connections or flows | bytes over quota | of these received |')
  console.log('|---|---|---|---|---|')
  for (const { label, count, over, isReliable } of rows) {
    const committed = await over.committed()
    maxOver = Math.max(maxOver, committed / count, isReliable ? over.received / count : 0)
    console.log(`| ${label} | ${count} | ${committed} | ${isReliable ? Math.max(0, over.received) : ''} |`)
  }
  for (const mode of modes) {
    const rule = await fixture.openRule(mode, 'plain', `race-${modes.indexOf(mode)}`)
    const { over, lost } = await race(rule, Number(values.patches), raceConnections)
    maxOver = Math.max(maxOver, Math.round(over / raceConnections))
    console.log(
      `${mode}: ${values.patches} changes under ${raceConnections} connections: ${over} bytes over quota, ${lost} lost`
    )
    if (lost !== 0) process.exitCode = 1
  }
  if (maxOver > allowedBytes) process.exitCode = 1
}

await main().finally(async () => {
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true, force: true })
})
