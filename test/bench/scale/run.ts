// Measures the cost of a server at 1, 10 and 100 times a base size, with the growth exponent. Writes test/bench/SCALE.md.
//   npm run scale [-- --largest 100] [--only reconnect,reports] [--page FILE] [--clients 18000]
// `--clients` sets the number of clients at the largest size, default 10,000.
// Callers and agents run in separate processes, so the figures cover only the server.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { withSeededServer } from '../seeded-server.ts'
import { changeForAll, idle, reconnect, reports } from './agents.ts'
import { bareCosts } from './bare-costs.ts'
import type { Bench } from './bench.ts'
import { creates, reads, scrape, writes } from './calls.ts'
import { openFigures } from './figures.ts'
import { residentMiB, startHelper } from './processes.ts'
import { type SeedResult, type Size, seed } from './seed.ts'
import { streams } from './streams.ts'

const page = join(import.meta.dirname, '..', 'SCALE.md')
const { values } = parseArgs({
  options: {
    largest: { type: 'string', default: '100' },
    least: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    clients: { type: 'string', default: '10000' },
    page: { type: 'string', default: page }
  }
})
const factors = [1, 10, 100].filter(
  factor => factor <= Number(values.largest) && factor >= Number(values.least)
)
const base: Size = { users: 10, clients: 100, rules: 1_000, watchers: 10 }

// A connected agent needs one descriptor in the server and one in the fleet process. The rest is for other files.
const descriptors = Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' })) || 1_048_576
const mostClients = Math.floor(descriptors * 0.9)

const { note, rows, last } = openFigures()
const parts = { reconnect, reports, changeForAll, reads, creates, scrape, streams, writes }
const chosen = values.only === '' ? null : new Set(values.only.split(','))

function sizeAt(factor: number): Size {
  const clients = Math.min(factor === 100 ? Number(values.clients) : base.clients * factor, mostClients)
  return {
    users: base.users * factor,
    clients,
    rules: base.rules * factor,
    watchers: base.watchers * factor
  }
}

async function at(factor: number): Promise<void> {
  const size = sizeAt(factor)
  console.error(`-- ${factor}x: ${JSON.stringify(size)}`)
  const fleet = startHelper('fleet.ts')
  const callers = startHelper('callers.ts')
  let seeded: SeedResult | null = null
  try {
    await withSeededServer(
      db => {
        seeded = seed(db, size)
      },
      async server => {
        if (!seeded) throw new TypeError('the store was not seeded')
        await measure({ server, seeded, fleet, callers, note })
      }
    )
  } finally {
    await Promise.all([fleet.end(), callers.end()])
  }
}

async function measure(bench: Bench): Promise<void> {
  const { server } = bench
  const all = 'users, clients, rules'
  const startMiB = residentMiB(server.pid)
  note('start: time until serving', 'ms', all, server.startMs)
  note('memory after the start', 'MiB', all, startMiB)
  for (const [name, part] of Object.entries(parts)) if (!chosen || chosen.has(name)) await part(bench)
  if (!chosen || chosen.has('idle')) await idle(bench, startMiB)
  note('SIGTERM with all agents connected: time to exit', 'ms', all, await server.stop())
}

const began = performance.now()
const largest = sizeAt(factors.at(-1) ?? 1)
const bare = await bareCosts({ calls: 3_000, connections: chosen ? 200 : largest.clients })
for (const factor of factors) await at(factor)
const ownMs = last('GET /v1/users/me')
const text = `# Cost of a server by size

Written by \`npm run scale\`, in ${Math.round((performance.now() - began) / 60_000)} minutes on ${cpus().length} cores shared with callers and agents. 1x is ${base.users} users, ${base.clients} clients with one agent each, ${base.rules} rules and ${base.watchers} watchers of events. The exponent describes the growth from the smallest to the largest size: 1 is linear. CPU time covers all threads of the server process. Rates and elapsed times also depend on other load of this machine. In "fleet reconnects", all agents connect at once to a server that has just started, and already have their rules.

| Figure | Unit | Grows with | ${factors.map(factor => `${factor}x`).join(' | ')} | Exponent |
|---|---|---|${factors.map(() => '---').join('|')}|---|
${rows(factors).join('\n')}

A bare Fastify route with one prepared read of SQLite costs ${bare.callMs.toPrecision(3)} ms of CPU per call in the same run. An authenticated \`GET /v1/users/me\` costs ${(ownMs / bare.callMs).toPrecision(2)} times as much. A bare TLS server of Node needs ${bare.connectionKiB.toPrecision(3)} KiB per idle connection in the same run, which is part of the memory of a connected agent. When it sends 64 bytes to each of ${chosen ? 200 : largest.clients} at once, 99 % have answered after ${bare.askedMs.toPrecision(3)} ms, which is part of the time of a change for all agents.

The largest size has ${largest.clients} agents. On this machine a process can open ${descriptors} descriptors, and the server needs one per agent. So more than ${mostClients} agents per server cannot be measured here.
`
writeFileSync(values.page, text)
