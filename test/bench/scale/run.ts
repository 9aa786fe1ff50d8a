// What a server costs at 1, 10 and 100 times a size, with the exponent of the growth. Writes test/bench/SCALE.md.
//   npm run scale [-- --largest 100]
// Callers and agents are processes of their own: the figures are those of the server alone.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { quantile, type SeededServer, withSeededServer } from '../seeded-server.ts'
import { bareReads } from './bare.ts'
import type { Load, Took } from './callers.ts'
import type { Fleet, Joined } from './fleet.ts'
import { type Seeded, type Size, seed } from './seed.ts'

const { values } = parseArgs({ options: { largest: { type: 'string', default: '100' } } })
const factors = [1, 10, 100].filter(factor => factor <= Number(values.largest))
const base: Size = { users: 10, clients: 10, rules: 100 }

/** A row of the page: a figure at each size. */
interface Figure {
  readonly name: string
  readonly unit: string
  readonly of: string // what grows
  readonly values: number[]
}
const figures = new Map<string, Figure>()

function note(name: string, unit: string, of: string, value: number): void {
  const figure = figures.get(name) ?? { name, unit, of, values: [] }
  figure.values.push(value)
  figures.set(name, figure)
  console.error(`${name}: ${value.toPrecision(3)} ${unit}`)
}

/** The CPU time of a process, in ms. */
export function cpuMsOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number)
  return (user + system) * 10
}

const residentMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const run = (file: string, argument: object): ChildProcess =>
  spawn(process.execPath, [join(import.meta.dirname, file), JSON.stringify(argument)], {
    stdio: ['ignore', 'pipe', 'inherit']
  })

async function outputOf(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdout?.on('data', chunk => {
    text += chunk
  })
  await once(child, 'close')
  return text
}

/** Makes the calls twice, and measures the second time. */
async function measured(pid: number, load: Load): Promise<Took & { readonly cpuMs: number }> {
  await outputOf(run('callers.ts', load))
  const before = cpuMsOf(pid)
  const took = JSON.parse(
    await outputOf(run('callers.ts', { ...load, from: load.from + load.calls }))
  ) as Took
  for (const [code, count] of Object.entries(took.refused)) console.error(`  ${count} calls: ${code}`)
  return { ...took, cpuMs: (cpuMsOf(pid) - before) / load.calls }
}

type Calls = Pick<Load, 'path'> & Partial<Load>

async function reads({ origin, pid }: SeededServer, { admin, owner }: Seeded): Promise<void> {
  const ask = (token: string, calls: Calls) =>
    measured(pid, { origin, token, method: 'GET', body: null, from: 0, calls: 1_500, callers: 8, ...calls })
  const pages: readonly (readonly [string, string, string])[] = [
    ['GET /v1/users/me', admin, '/v1/users/me'],
    ['50 rules of all', admin, '/v1/rules?limit=50'],
    ['50 rules of an owner', owner, '/v1/rules?limit=50'],
    ['50 clients', admin, '/v1/clients?limit=50'],
    ['50 users', admin, '/v1/users?limit=50']
  ]
  for (const [name, token, path] of pages)
    note(name, 'ms of CPU', 'users, clients, rules', (await ask(token, { path })).cpuMs)
}

async function writes({ origin, pid }: SeededServer, { admin, clientIds }: Seeded): Promise<void> {
  const change = { origin, token: admin, method: 'PATCH', from: 0, calls: 1_000, callers: 64 }
  const renamed = await measured(pid, { ...change, path: '/v1/users/owner', body: '{"display_name":"n$i"}' })
  note('small changes, 64 callers: each', 'ms of CPU', 'users, clients, rules', renamed.cpuMs)
  note('small changes, 64 callers: p99', 'ms', 'users, clients, rules', quantile(renamed.waits, 0.99))
  note('small changes, 64 callers', 'a second', 'users, clients, rules', (1000 / renamed.ms) * 1000)
  const rule = { client: clientIds[0], protocol: 'tcp', targets: [{ host: '192.0.2.1', port: 80 }] }
  const body = JSON.stringify({ ...rule, listen_port: 0 }).replace('"listen_port":0', '"listen_port":2$i')
  const created = await measured(pid, {
    ...change,
    method: 'POST',
    path: '/v1/rules',
    body,
    from: 1_000,
    calls: 200,
    callers: 16
  })
  note('rule creates on an agent: each', 'ms of CPU', 'users, clients, rules', created.cpuMs)
  note('rule creates on an agent', 'a second', 'users, clients, rules', (200 / created.ms) * 1000)
}

async function fleet({ controlPort: port, fingerprint, pid }: SeededServer, { agents: tokens }: Seeded) {
  const [before, heldMiB] = [cpuMsOf(pid), residentMiB(pid)]
  const child = run('fleet.ts', { port, fingerprint, tokens } satisfies Fleet)
  const [line] = await once(child.stdout ?? child, 'data')
  const joined = JSON.parse(String(line)) as Joined
  note('a fleet returns: all are let in after', 'ms', 'agents', joined.ms)
  note('a fleet returns: each agent', 'ms of CPU', 'agents', (cpuMsOf(pid) - before) / tokens.length)
  note('a fleet returns: its own processes, each agent', 'ms of CPU', 'agents', joined.cpuMs / tokens.length)
  note('a fleet returns: handshakes refused', 'of an agent', 'agents', joined.refused / tokens.length)
  note('a connected agent', 'KiB', 'agents', ((residentMiB(pid) - heldMiB) * 1024) / tokens.length)
  return child
}

async function scrape({ metricsPort, pid }: SeededServer): Promise<void> {
  const page = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).arrayBuffer()
  await page()
  const before = cpuMsOf(pid)
  const bytes = (await page()).byteLength
  note('/metrics', 'ms of CPU', 'rules', cpuMsOf(pid) - before)
  note('/metrics: its length', 'KiB', 'rules', bytes / 1024)
}

async function at(factor: number): Promise<void> {
  const size = { users: base.users * factor, clients: base.clients * factor, rules: base.rules * factor }
  console.error(`-- ${factor}x: ${JSON.stringify(size)}`)
  let seeded: Seeded | null = null
  await withSeededServer(
    db => {
      seeded = seed(db, size)
    },
    async server => {
      if (!seeded) throw new TypeError('the store was not seeded')
      note('start: serving after', 'ms', 'users, clients, rules', server.startMs)
      note('memory after the start', 'MiB', 'users, clients, rules', residentMiB(server.pid))
      await reads(server, seeded)
      await scrape(server)
      const agents = await fleet(server, seeded)
      await writes(server, seeded)
      agents.kill('SIGKILL')
      await once(agents, 'close')
    }
  )
}

/** The slope of the figure over the size, both as logarithms: 1 is linear. */
function exponentOf(all: readonly number[]): string {
  const [first = 0, last = 0] = [all[0], all.at(-1)]
  if (all.length < 2 || first <= 0 || last <= 0) return ''
  return (Math.log(last / first) / Math.log((factors.at(-1) ?? 1) / (factors[0] ?? 1))).toFixed(2)
}

const began = performance.now()
const bareMs = await bareReads()
for (const factor of factors) await at(factor)
const ownMs = figures.get('GET /v1/users/me')?.values.at(-1) ?? 0
const rows = [...figures.values()].map(
  ({ name, unit, of, values }) =>
    `| ${name} | ${unit} | ${of} | ${values.map(value => value.toPrecision(3)).join(' | ')} | ${exponentOf(values)} |`
)
const text = `# What a server costs, by size

Written by \`npm run scale\`, in ${Math.round((performance.now() - began) / 60_000)} minutes on ${cpus().length} cores, which callers and agents share. 1x is ${base.users} users, ${base.clients} clients, each with an agent, and ${base.rules} rules. The exponent is that of the growth from the least to the largest size: 1 is linear. CPU time is that of the server's process, all threads; the rates and times of the clock depend on what else this machine did.

| Figure | Unit | Grows with | ${factors.map(factor => `${factor}x`).join(' | ')} | Exponent |
|---|---|---|${factors.map(() => '---').join('|')}|---|
${rows.join('\n')}

A bare Fastify route with one prepared read of SQLite costs ${bareMs.toPrecision(3)} ms of CPU for each call in the same run: ${(ownMs / bareMs).toPrecision(2)} times of that is an authenticated \`GET /v1/users/me\`.
`
writeFileSync(join(import.meta.dirname, '..', 'SCALE.md'), text)
