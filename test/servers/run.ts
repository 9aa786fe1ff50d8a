// What several real servers on one PostgreSQL do when servers, connections and the database fail: npm run test:servers.
// Parts and options are in README.md. Exits with 1 if a check fails.
import { parseArgs } from 'node:util'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { chaos, type Forwarder, forwarderOf } from './chaos.ts'
import { openReport, type Report } from './checks.ts'
import { database } from './database.ts'
import { deaf } from './deaf.ts'
import { killed } from './killed.ts'
import { paused, roleOf } from './paused.ts'
import { type Place, withServers } from './place.ts'
import { pushes } from './pushes.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    agents: { type: 'string', default: '3000' },
    pushes: { type: 'string', default: '400' },
    pauses: { type: 'string', default: '3' },
    cuts: { type: 'string', default: '100' },
    margin: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '5' }
  }
})

interface Part {
  readonly shows: string
  readonly servers: readonly string[]
  readonly urlOf?: (id: string, url: string) => string
  readonly ready?: (at: PostgresPlace) => Promise<void>
  readonly run: (place: Place, report: Report) => Promise<void>
}

const three = ['a', 'b', 'c']
const forwarders = new Map<string, Forwarder>()
for (const id of three) forwarders.set(id, await forwarderOf())

const parts: Readonly<Record<string, Part>> = {
  killed: {
    shows: 'a server of three is killed',
    servers: three,
    run: (place, report) => killed(place, report, { agents: Number(values.agents) })
  },
  pushes: {
    shows: 'rules are made at one server for agents at another',
    servers: three,
    run: (place, report) => pushes(place, report, { agents: 60, pushes: Number(values.pushes) })
  },
  paused: {
    shows: 'a server is paused for longer than its lease, and its agents go elsewhere',
    servers: ['a', 'b'],
    urlOf: (id, url) => Object.assign(new URL(url), { username: roleOf(id) }).href,
    ready: ({ url, password }) =>
      runAt(
        { url, password },
        ['a', 'b'].map(id => `create role ${roleOf(id)} superuser login`)
      ),
    run: (place, report) => paused(place, report, { pauses: Number(values.pauses), agents: 20 })
  },
  deaf: {
    shows: 'the connections on which servers hear each other are cut',
    servers: ['a', 'b'],
    run: (place, report) =>
      deaf(place, report, { cuts: Number(values.cuts), marginMs: Number(values.margin) })
  },
  database: {
    shows: 'PostgreSQL is killed while callers make changes',
    servers: three,
    run: (place, report) => database(place, report, { kills: Number(values.kills) })
  },
  chaos: {
    shows: 'servers are killed, paused and cut off by chance',
    servers: three,
    urlOf: (id, url) => Object.assign(new URL(url), { port: forwarders.get(id)?.port }).href,
    async ready({ url }) {
      for (const forwarder of forwarders.values()) await forwarder.begin(Number(new URL(url).port))
    },
    run: (place, report) =>
      chaos(place, report, { minutes: Number(values.minutes), agents: 60, registers: 12, forwarders })
  }
}

const chosen = values.only === '' ? Object.keys(parts) : values.only.split(',')
for (const name of chosen)
  if (!parts[name])
    throw new RangeError(`--only: there is no part ${name}; there are ${Object.keys(parts).join(', ')}`)

const report = openReport()
for (const [name, { shows, run, ...options }] of Object.entries(parts)) {
  if (!chosen.includes(name)) continue
  const began = performance.now()
  report.say(`${name}: ${shows}`)
  try {
    await withServers(options, place => run(place, report))
  } catch (error) {
    report.check(`${name} runs to its end`, false, error instanceof Error ? error.stack : String(error))
  }
  report.say(`  (${Math.round((performance.now() - began) / 1000)} s)`)
}
for (const { signal } of forwarders.values()) signal('SIGKILL')
const { checked, failed } = report.counts()
report.say(`${checked} checks, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
