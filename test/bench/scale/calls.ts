// Rows about calls of the operator API and scrapes of /metrics.
import { quantile, type SeededServer } from '../seeded-server.ts'
import type { Bench } from './bench.ts'
import type { CallersOrder, Load, LoadResult } from './callers.ts'
import { cpuMsOf, type Helper } from './processes.ts'

const grows = 'users, clients, rules'

type Calls = Pick<Load, 'path'> & Partial<Load>

export async function runLoad(callers: Helper, load: Load): Promise<LoadResult> {
  await callers.ask({ begin: load } satisfies CallersOrder)
  return callers.ask<LoadResult>({ end: 'done' } satisfies CallersOrder)
}

/** Makes the calls twice and measures the second run. */
async function measureSecondRun(
  { server: { pid, origin }, callers, seeded }: Bench,
  calls: Calls
): Promise<LoadResult & { readonly cpuMs: number }> {
  const base = {
    origin,
    token: seeded.adminToken,
    method: 'GET',
    body: null,
    from: 0,
    calls: 1_000,
    callers: 8
  }
  const load = { ...base, ...calls }
  const count = load.calls ?? 0
  await runLoad(callers, load)
  const before = cpuMsOf(pid)
  const second = await runLoad(callers, { ...load, from: load.from + count })
  for (const [code, refusals] of Object.entries(second.refused)) console.error(`  ${refusals} calls: ${code}`)
  return { ...second, cpuMs: (cpuMsOf(pid) - before) / count }
}

export async function reads(bench: Bench): Promise<void> {
  const { adminToken, ownerToken } = bench.seeded
  const pages: readonly (readonly [string, string, string])[] = [
    ['GET /v1/users/me', adminToken, '/v1/users/me'],
    ['50 rules of all owners', adminToken, '/v1/rules?limit=50'],
    ['50 rules of an owner', ownerToken, '/v1/rules?limit=50'],
    ['50 clients', adminToken, '/v1/clients?limit=50'],
    ['50 users', adminToken, '/v1/users?limit=50']
  ]
  for (const [name, token, path] of pages)
    bench.note(name, 'ms of CPU', grows, (await measureSecondRun(bench, { token, path })).cpuMs)
}

export async function writes(bench: Bench): Promise<void> {
  const { note } = bench
  const body = '{"display_name":"n$i"}'
  const change = { path: '/v1/users/owner', method: 'PATCH', body, calls: 1_000, callers: 64 }
  const renamed = await measureSecondRun(bench, change)
  note('small changes, 64 callers: per change', 'ms of CPU', grows, renamed.cpuMs)
  note('small changes, 64 callers: p99', 'ms', grows, quantile(renamed.waits, 0.99))
  note('small changes, 64 callers', 'per second', grows, 1_000_000 / renamed.ms)
  const paced = await measureSecondRun(bench, { ...change, from: 2_000, calls: 3_000, restMs: 36 })
  note('small changes, 64 callers that pause 36 ms: p99', 'ms', grows, quantile(paced.waits, 0.99))
  note('small changes, 64 callers that pause 36 ms', 'per second', grows, 3_000_000 / paced.ms)
}

const agentsOfCreates = 10

/** Creates rules. The response to each create follows the acknowledgment of its agent. */
export async function creates(bench: Bench): Promise<void> {
  const { note, seeded, server, callers } = bench
  const all = [...seeded.agents.slice(0, agentsOfCreates).entries()]
  const bodyOf = (client: string, port: string): string =>
    JSON.stringify({
      client,
      protocol: 'tcp',
      targets: [{ host: '192.0.2.1', port: 80 }],
      listen_port: 0
    }).replace('"listen_port":0', `"listen_port":${port}`)
  const perAgent = 40
  const before = cpuMsOf(server.pid)
  let ms = 0
  for (const [at, { clientId }] of all) {
    const load = { origin: server.origin, token: seeded.adminToken, method: 'POST', path: '/v1/rules' }
    const body = bodyOf(clientId, '3$i')
    ms += (
      await runLoad(callers, { ...load, body, from: 1_000 + at * perAgent, calls: perAgent, callers: 16 })
    ).ms
  }
  const count = perAgent * all.length
  note('rule creates on 10 agents: per rule', 'ms of CPU', grows, (cpuMsOf(server.pid) - before) / count)
  note('rule creates on 10 agents', 'per second', grows, (count / ms) * 1000)
  const [, first] = all[0] ?? []
  const single = {
    method: 'POST',
    path: '/v1/rules',
    body: bodyOf(first?.clientId ?? '', '4$i'),
    from: 1_000
  }
  const one = await measureSecondRun(bench, { ...single, calls: 200, callers: 1 })
  note('one rule until acknowledged by its agent: p50', 'ms', grows, quantile(one.waits, 0.5))
  note('one rule until acknowledged by its agent: p99', 'ms', grows, quantile(one.waits, 0.99))
}

export async function scrape({ server: { metricsPort, pid }, note }: Bench): Promise<void> {
  const page = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).arrayBuffer()
  await page()
  const before = cpuMsOf(pid)
  const began = performance.now()
  const bytes = (await page()).byteLength
  note('/metrics: response time', 'ms', 'rules', performance.now() - began)
  note('/metrics', 'ms of CPU', 'rules', cpuMsOf(pid) - before)
  note('/metrics: size', 'KiB', 'rules', bytes / 1024)
}

/** Calls the API during `work`, like two users with an open page. Returns the time of each call in ms. */
export async function callsMeanwhile(
  { callers, seeded }: Pick<Bench, 'callers' | 'seeded'>,
  { origin }: Pick<SeededServer, 'origin'>,
  work: () => Promise<unknown>
): Promise<readonly number[]> {
  const load = { origin, token: seeded.adminToken, method: 'GET', path: '/v1/users/me', body: null, from: 0 }
  await callers.ask({ begin: { ...load, calls: null, callers: 2, restMs: 20 } } satisfies CallersOrder)
  await work()
  return (await callers.ask<LoadResult>({ end: 'now' } satisfies CallersOrder)).waits
}
