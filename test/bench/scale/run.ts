// Measures the cost of a server at 1, 10 and 100 times a size, with the growth exponent. Writes test/bench/SCALE.md.
//   npm run scale [-- --largest 100] [--only returns,reports] [--page FILE] [--clients 18000]
// `--clients` are those of the largest size, in place of 10,000.
// Callers and agents are processes of their own: the figures are those of the server alone.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { withSeededServer } from '../seeded-server.ts'
import { changeForAll, reports, rest, returns } from './agents.ts'
import { bareCosts } from './bare-costs.ts'
import type { Bench } from './bench.ts'
import { creates, reads, scrape, writes } from './calls.ts'
import { openFigures } from './figures.ts'
import { residentMiB, startHelper } from './processes.ts'
import { type Seeded, type Size, seed } from './seed.ts'
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

// A connected agent takes a descriptor of the server and one of the process of the fleet; the rest is for what else is open.
const descriptors = Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' })) || 1_048_576
const mostClients = Math.floor(descriptors * 0.9)

const { note, rows, last } = openFigures()
const parts = { returns, reports, changeForAll, reads, creates, scrape, streams, writes }
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
  let seeded: Seeded | null = null
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
  const heldMiB = residentMiB(server.pid)
  note('start: serving after', 'ms', all, server.startMs)
  note('memory after the start', 'MiB', all, heldMiB)
  for (const [name, part] of Object.entries(parts)) if (!chosen || chosen.has(name)) await part(bench)
  if (!chosen || chosen.has('rest')) await rest(bench, heldMiB)
  note('SIGTERM with all agents connected: ended after', 'ms', all, await server.stop())
}

const began = performance.now()
const largest = sizeAt(factors.at(-1) ?? 1)
const bare = await bareCosts({ calls: 3_000, connections: chosen ? 200 : largest.clients })
for (const factor of factors) await at(factor)
const ownMs = last('GET /v1/users/me')
const text = `# What a server costs, by size

Written by \`npm run scale\`, in ${Math.round((performance.now() - began) / 60_000)} minutes on ${cpus().length} cores, which callers and agents share. 1x is ${base.users} users, ${base.clients} clients, each with an agent, ${base.rules} rules and ${base.watchers} watchers of events. The exponent is that of the growth from the least to the largest size: 1 is linear. CPU time is that of the server's process, all threads; the rates and times of the clock depend on what else this machine did. A fleet returns to a server that has just started, all at once, and has the rules that it should have.

| Figure | Unit | Grows with | ${factors.map(factor => `${factor}x`).join(' | ')} | Exponent |
|---|---|---|${factors.map(() => '---').join('|')}|---|
${rows(factors).join('\n')}

A bare Fastify route with one prepared read of SQLite costs ${bare.callMs.toPrecision(3)} ms of CPU for each call in the same run: ${(ownMs / bare.callMs).toPrecision(2)} times of that is an authenticated \`GET /v1/users/me\`. A bare TLS server of Node needs ${bare.connectionKiB.toPrecision(3)} KiB for each idle connection in the same run, which is part of what a connected agent needs; and when it sends 64 bytes to each of ${chosen ? 200 : largest.clients} at once, 99 of 100 have answered after ${bare.askedMs.toPrecision(3)} ms, which is part of what a change for all agents takes.

The largest size has ${largest.clients} agents. A process of this machine may open ${descriptors} descriptors, and each agent takes one of the server's: more than ${mostClients} agents of one server cannot be measured here.
`
writeFileSync(values.page, text)
