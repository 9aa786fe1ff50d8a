// Checks several real servers on one PostgreSQL while servers, connections and the database fail: npm run test:servers.
// README.md lists parts and options. Exits with 1 if a check fails.
import { parseArgs } from 'node:util'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { chaosOf, judgeLog } from './chaos.ts'
import { openReport, type Report } from './checks.ts'
import { cutSignals } from './cut-signals.ts'
import { killDatabase } from './kill-database.ts'
import { killServer } from './kill-server.ts'
import { pauseServers, roleOf } from './pause-servers.ts'
import { pushes } from './pushes.ts'
import { readRecord } from './run-log.ts'
import { type ServerPlace, type Teardown, withServers } from './server-place.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    agents: { type: 'string', default: '3000' },
    pushes: { type: 'string', default: '400' },
    pauses: { type: 'string', default: '3' },
    cuts: { type: 'string', default: '100' },
    margin: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '5' },
    log: { type: 'string', default: '' },
    judge: { type: 'string', default: '' }
  }
})

interface Part {
  readonly shows: string
  readonly servers: readonly string[]
  readonly urlOf?: (id: string, url: string) => string
  readonly envOf?: (id: string) => Readonly<Record<string, string>>
  readonly databaseEnv?: (t: Teardown) => Readonly<Record<string, string>>
  readonly ready?: (at: PostgresPlace, t: Teardown) => Promise<void>
  readonly run: (place: ServerPlace, report: Report) => Promise<void>
}

const three = ['a', 'b', 'c']
const five = ['a', 'b', 'c', 'd', 'e']
const { run: runChaos, ...means } = chaosOf(three)

const parts: Readonly<Record<string, Part>> = {
  kill: {
    shows: 'kills one of three servers',
    servers: three,
    run: (place, report) => killServer(place, report, { agents: Number(values.agents) })
  },
  pushes: {
    shows: 'makes rules at one server for agents at another',
    servers: three,
    run: (place, report) => pushes(place, report, { agents: 60, pushes: Number(values.pushes) })
  },
  pause: {
    shows: 'pauses servers for longer than their lease, while their agents move to another',
    servers: five,
    urlOf: (id, url) => Object.assign(new URL(url), { username: roleOf(id) }).href,
    ready: ({ url, password }) =>
      runAt(
        { url, password },
        five.map(id => `create role ${roleOf(id)} superuser login`)
      ),
    run: (place, report) => pauseServers(place, report, { pauses: Number(values.pauses), agents: 10 })
  },
  signals: {
    shows: 'cuts the connections for signals between servers',
    servers: ['a', 'b'],
    run: (place, report) =>
      cutSignals(place, report, { cuts: Number(values.cuts), marginMs: Number(values.margin) })
  },
  database: {
    shows: 'kills PostgreSQL while callers make changes',
    servers: three,
    run: (place, report) => killDatabase(place, report, { kills: Number(values.kills) })
  },
  chaos: {
    shows: 'breaks servers, agents and their database at random, and promotes a stale standby',
    servers: three,
    ...means,
    run: (place, report) =>
      runChaos(place, report, { minutes: Number(values.minutes), agents: 60, registers: 12, log: values.log })
  }
}

const report = openReport()
if (values.judge !== '') judgeLog(readRecord(values.judge), report)
const chosen = values.judge !== '' ? [] : values.only === '' ? Object.keys(parts) : values.only.split(',')
for (const name of chosen)
  if (!parts[name])
    throw new RangeError(`--only: unknown part ${name}; choose from ${Object.keys(parts).join(', ')}`)

for (const [name, { shows, run, ...options }] of Object.entries(parts)) {
  if (!chosen.includes(name)) continue
  const began = performance.now()
  report.say(`${name}: ${shows}`)
  try {
    await withServers(options, place => run(place, report))
  } catch (error) {
    report.check(`${name} completes`, false, error instanceof Error ? error.stack : String(error))
  }
  report.say(`  (${Math.round((performance.now() - began) / 1000)} s)`)
}
const { checked, failed } = report.counts()
report.say(`${checked} checks, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
