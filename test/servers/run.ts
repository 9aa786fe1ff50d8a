// What several real servers on one PostgreSQL do when servers, connections and the database fail: npm run test:servers.
// Parts and options are in README.md. Exits with 1 if a check fails.
import { parseArgs } from 'node:util'
import { openReport, type Report } from './checks.ts'
import { killed } from './killed.ts'
import { type Place, withServers } from './place.ts'
import { pushes } from './pushes.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    agents: { type: 'string', default: '3000' },
    pushes: { type: 'string', default: '400' }
  }
})

interface Part {
  readonly shows: string
  readonly servers: readonly string[]
  readonly run: (place: Place, report: Report) => Promise<void>
}

const parts: Readonly<Record<string, Part>> = {
  killed: {
    shows: 'a server of three is killed',
    servers: ['a', 'b', 'c'],
    run: (place, report) => killed(place, report, { agents: Number(values.agents) })
  },
  pushes: {
    shows: 'rules are made at one server for agents at another',
    servers: ['a', 'b', 'c'],
    run: (place, report) => pushes(place, report, { agents: 60, pushes: Number(values.pushes) })
  }
}

const chosen = values.only === '' ? Object.keys(parts) : values.only.split(',')
for (const name of chosen)
  if (!parts[name])
    throw new RangeError(`--only: there is no part ${name}; there are ${Object.keys(parts).join(', ')}`)

const report = openReport()
for (const [name, { shows, servers, run }] of Object.entries(parts)) {
  if (!chosen.includes(name)) continue
  const began = performance.now()
  report.say(`${name}: ${shows}`)
  try {
    await withServers({ servers }, place => run(place, report))
  } catch (error) {
    report.check(`${name} runs to its end`, false, error instanceof Error ? error.stack : String(error))
  }
  report.say(`  (${Math.round((performance.now() - began) / 1000)} s)`)
}
const { checked, failed } = report.counts()
report.say(`${checked} checks, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
