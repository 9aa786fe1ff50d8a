// Sends the worst bodies of each route to a real server with an agent, from 256 connections at once. Prints the latency
// of /livez, quiet and under fire, and whether the agent lost its control stream. Exits with 1 if a route delays the 99th
// percentile of /livez by more than 50 ms, or ends the stream.
//   npm run bench:bodies -- [--seconds 5] [--connections 256] [--only rules]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, type TestFolder, testCluster, token } from '../support/test-cluster.ts'
import { type JsonSchema, worstBodies } from '../support/worst-bodies.ts'
import { quantile } from './seeded-server.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '256' },
    only: { type: 'string', default: '' }
  }
})
const ms = Number(values.seconds) * 1000
const probeEveryMs = 20
const mostBytes = 64 * 2 ** 20 // of all bodies for a route
const mostDelayMs = 50 // of the 99th percentile

interface Operation {
  readonly method: string
  readonly path: string
  readonly authorization: string
  readonly maxBytes: number
  readonly schema: JsonSchema
}

interface Described {
  readonly description: string
  readonly requestBody?: {
    readonly 'x-max-bytes'?: number
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>
  }
}

/** Runs in a separate thread, so that it does not delay the probes. */
const attacker = `
import { Agent, request } from 'node:http'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
setPriority(10) // of this thread: a remote attacker would not use the server's CPU
const { url, method, headers, bodies, connections, ms } = workerData
const agent = new Agent({ keepAlive: true, maxSockets: connections })
const statuses = {}
let next = 0
const count = status => { statuses[status] = (statuses[status] ?? 0) + 1 }
const send = () => new Promise(resolve => {
  const key = next % 4 === 0 ? { 'idempotency-key': 'worst-' + next } : {}
  const outgoing = request(url, { method, agent, headers: { ...headers, ...key } }, reply => {
    count(reply.statusCode)
    reply.resume().on('close', resolve)
  })
  outgoing.on('error', error => { count(error.code); resolve() })
  outgoing.end(bodies[next++ % bodies.length])
})
parentPort.postMessage('ready')
await new Promise(resolve => parentPort.once('message', resolve))
const end = performance.now() + ms
const attack = async () => { while (performance.now() < end) await send() }
await Promise.all(Array.from({ length: connections }, attack))
agent.destroy()
parentPort.postMessage(statuses)
`

/** Returns a function that runs the attack. The bodies are copied to its thread before. */
async function prepareAttack(
  origin: string,
  { method, path, authorization, bodies }: Target
): Promise<() => Promise<object>> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const headers = {
    'content-type': type,
    ...(authorization !== '' && { authorization: `Bearer ${authorization}` })
  }
  const workerData = {
    url: origin + path,
    method,
    headers,
    bodies,
    connections: Number(values.connections),
    ms
  }
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(attacker)}`), { workerData })
  const message = () =>
    new Promise<object>((resolve, reject) => worker.once('message', resolve).once('error', reject))
  await message()
  return () => {
    worker.postMessage('go')
    return message()
  }
}

interface Target extends Operation {
  readonly bodies: readonly string[]
}

/** Probes /livez until `stop` at a fixed rate, so that a slow response delays no later probe. */
async function probe(origin: string, stop: AbortSignal): Promise<number[]> {
  const agent = new Agent({ keepAlive: true })
  const pending: Promise<number>[] = []
  while (!stop.aborted) {
    pending.push(timeProbe(`${origin}/livez`, agent))
    await setTimeout(probeEveryMs)
  }
  const tookMs = await Promise.all(pending)
  agent.destroy()
  return tookMs
}

function timeProbe(url: string, agent: Agent): Promise<number> {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent }, reply => {
      reply.resume().on('end', () => resolve(performance.now() - began))
    })
    outgoing.on('error', reject).end()
  })
}

async function operations(cluster: TestCluster, ids: Readonly<Record<string, string>>, tenant: string) {
  const { paths, components } = await cluster.call<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
    readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
  }>('GET', '/v1/openapi.json')
  const inline = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inline)
    if (typeof part !== 'object' || part === null) return part
    if ('$ref' in part) return inline(components.schemas[String(part.$ref).split('/').at(-1) ?? ''])
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inline(value)]))
  }
  return Object.entries(paths).flatMap(([url, methods]) =>
    Object.entries(methods).flatMap(([method, { description, requestBody }]): Operation[] => {
      if (method === 'get') return []
      const schema = requestBody ? requestBody.content['application/json']?.schema : { type: 'object' }
      if (!schema) throw new Error(`${method} ${url} takes no JSON`)
      const [, callers = ''] = /^Access: (.+)\.$/m.exec(description) ?? []
      return [
        {
          method: method.toUpperCase(),
          // A request that needs no body would delete what others use.
          path: url.replaceAll(/\{(\w+)\}/g, (_, name: string) => (requestBody && ids[name]) ?? 'none'),
          authorization: /^public/.test(callers) ? '' : /^(every user|users)/.test(callers) ? tenant : token,
          maxBytes: requestBody?.['x-max-bytes'] ?? 64 * 1024,
          schema: inline(schema) as JsonSchema
        }
      ]
    })
  )
}

/** Returns the longest bodies of a route. */
function bodiesFor({ schema, maxBytes }: Operation): string[] {
  const found = worstBodies(schema, maxBytes).filter(({ text }) => text.length > maxBytes / 4)
  return found.slice(0, Math.max(16, Math.floor(mostBytes / maxBytes))).map(({ text }) => text)
}

async function prepare(t: TestFolder, cluster: TestCluster) {
  const { clientId } = await startAgent(t, cluster, 'paris')
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  const user_id = 'eve'
  await cluster.call('POST', '/v1/users', { user_id, display_name: user_id })
  await cluster.call('POST', '/v1/grants', {
    user_id,
    client_id: '*',
    listen_port_start: 1,
    listen_port_end: 65_535,
    protocols: ['tcp']
  })
  const issued = await cluster.call<{ token: string }>('POST', `/v1/users/${user_id}/credentials`, {
    label: 'bench'
  })
  const rule = { client: 'paris', listen_port: await freePort(), targets: [{ host: '127.0.0.1', port: 9 }] }
  const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', rule, issued.token)
  const ids = { rule_id, client_id: clientId, user_id, owner_id: user_id, list_name: 'office' }
  return operations(cluster, ids, issued.token)
}

const cpuSecs = (pid: number): number => {
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
  return (Number(user) + Number(system)) / 100
}

const shown = (tookMs: readonly number[]): string =>
  [0.5, 0.99, 1].map(share => quantile(tookMs, share).toFixed(1).padStart(8)).join('')

/** Returns the routes that delay others too much. */
async function main(t: TestFolder): Promise<string[]> {
  const cluster = await testCluster(t, { SVC_LOG_LEVEL: 'info' })
  const found = await prepare(t, cluster)
  const measure = async (work: () => Promise<object>) => {
    const stop = new AbortController()
    const probing = probe(cluster.origin, stop.signal)
    const before = cpuSecs(cluster.server.pid)
    const statuses = await work().finally(() => stop.abort())
    return { statuses, tookMs: await probing, cpu: cpuSecs(cluster.server.pid) - before }
  }
  console.log(
    `/livez in ms: p50, p99, max, quiet and under fire; CPU seconds of the server; streams lost; responses`
  )
  const slow: string[] = []
  for (const operation of found.filter(({ path }) => path.includes(values.only))) {
    const quiet = await measure(async () => {
      await setTimeout(ms)
      return {}
    })
    const lostBefore = cluster.server.count('control.disconnected')
    const target = { ...operation, bodies: bodiesFor(operation) }
    const attack = await prepareAttack(cluster.origin, target)
    const { statuses, tookMs, cpu } = await measure(attack)
    const lost = cluster.server.count('control.disconnected') - lostBefore
    const name = `${operation.method} ${operation.path} (${operation.maxBytes / 1024} KiB)`
    console.log(
      `${name.padEnd(64)}${shown(quiet.tookMs)}${shown(tookMs)}${cpu.toFixed(1).padStart(7)}${String(lost).padStart(3)}`,
      statuses
    )
    const p99Ms = quantile(tookMs, 0.99)
    const limitMs = quantile(quiet.tookMs, 0.99) + mostDelayMs
    if (Object.keys(statuses).every(status => /^40[13]$/.test(status)))
      slow.push(`${name}: no body was judged`)
    if (p99Ms > limitMs)
      slow.push(`${name}: p99 of /livez is ${p99Ms.toFixed(1)} ms, at most ${limitMs.toFixed(1)}`)
    if (lost > 0) slow.push(`${name}: the agent lost its control stream`)
  }
  return slow
}

const releases: (() => unknown)[] = []
const dir = mkdtempSync(join(import.meta.dirname, '.bench-'))
const folder = { teardown: (release: () => unknown) => void releases.push(release), testdir: () => dir }
try {
  const slow = await main(folder as unknown as TestFolder)
  for (const what of slow) console.error(what)
  if (slow.length > 0) process.exitCode = 1
} finally {
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true, force: true })
}
