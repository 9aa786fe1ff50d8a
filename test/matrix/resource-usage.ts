// Resource usage of an agent before and after heavy work, which must not leak.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { readExposition } from '../support/exposition.ts'
import { freePort } from '../support/ports.ts'
import { get } from '../support/web.ts'
import { dial, openTarget } from './callers.ts'
import { retryDelay, type World } from './world.ts'

export interface Workload {
  readonly sequential: number // connections, one after the other
  readonly concurrent: number // connections at the same time
  readonly rounds: number // each creates and deletes a rule with every limit
  readonly flows: number
  readonly concurrentFlows: number
}

export interface ResourceUsage {
  readonly descriptors: number
  readonly timers: number
  readonly meters: number
  readonly residentMiB: number
  readonly heapMiB: number
}

const host = '127.0.0.1'
const noHello = Buffer.alloc(0)

/** Returns the resource usage of the agent, once no connection is active. */
export async function readResourceUsage(world: World): Promise<ResourceUsage> {
  const sum = await waitUntilIdle(world)
  const pid = world.agentPid()
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    timers: sum('nodejs_active_resources', 'Timeout'),
    meters: sum('svc_agent_meters'),
    residentMiB: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024),
    heapMiB: Math.round(sum('nodejs_heap_size_used_bytes') / 2 ** 20)
  }
}

type SumOf = (family: string, label?: string) => number

async function waitUntilIdle({ agentLogged }: World): Promise<SumOf> {
  const { port } = await agentLogged('metrics.listening')
  for (;;) {
    const families = readExposition(await get(`http://${host}:${port}/metrics`))
    const sum: SumOf = (family, label = '') =>
      [...(families.get(family)?.series ?? [])]
        .filter(([labels]) => labels.includes(label))
        .reduce((total, [, value]) => total + value, 0)
    if (sum('svc_agent_rule_active') === 0) return sum
    await retryDelay()
  }
}

/** One kind of work, run separately. */
export interface Job {
  readonly name: string
  readonly run: () => Promise<void>
}

export async function jobs(t: Test, world: World, work: Workload): Promise<readonly Job[]> {
  await world.call('POST', '/v1/users', { user_id: 'passing', display_name: 'passing' })
  const tcp = await echoRule(t, world, 'tcp')
  const udp = await echoRule(t, world, 'udp')
  return [
    { name: `${work.sequential} connections in turn`, run: () => connectSequentially(tcp, work.sequential) },
    { name: `${work.concurrent} connections at once`, run: () => connectConcurrently(tcp, work.concurrent) },
    { name: `${work.rounds} rules with every limit`, run: () => createAndDeleteRules(t, world, work.rounds) },
    { name: `${work.flows} flows, ${work.concurrentFlows} at once`, run: () => openFlows(world, udp, work) }
  ]
}

async function echoRule(t: Test, { call }: World, protocol: 'tcp' | 'udp'): Promise<number> {
  const listen_port = await freePort()
  const port = await freePort()
  await openTarget(t, protocol, port)
  await call('POST', '/v1/rules', { client: 'paris', protocol, listen_port, targets: [{ host, port }] })
  return listen_port
}

/** Jobs close their callers themselves, so that the test does not keep thousands of teardown handlers. */
const noTeardown = { teardown() {} }

async function connectSequentially(port: number, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const caller = dial(noTeardown, 'tcp', port, noHello)
    await caller.echo(10)
    caller.close()
  }
}

async function connectConcurrently(port: number, count: number): Promise<void> {
  const callers = Array.from({ length: count }, () => dial(noTeardown, 'tcp', port, noHello))
  await Promise.all(callers.map(caller => caller.echo(10)))
  for (const caller of callers) caller.close()
}

const everyLimit = {
  bandwidth_in_bps: 80_000_000,
  bandwidth_out_bps: 80_000_000,
  concurrent_connections: 10,
  new_connections_per_sec: 10
}

async function createAndDeleteRules(t: Test, { call, clientId }: World, count: number): Promise<void> {
  const listen_port = await freePort()
  const port = await freePort()
  await openTarget(t, 'tcp', port)
  const envelope = `/v1/clients/${clientId}/owners/passing/rate-limit`
  const quota = `/v1/users/passing/quotas/${clientId}`
  const body = {
    client: 'paris',
    owner: 'passing',
    listen_port,
    targets: [{ host, port }],
    rate_limit: everyLimit
  }
  for (let i = 0; i < count; i++) {
    await call('PUT', envelope, everyLimit)
    await call('PUT', quota, { monthly_bytes: 1_000_000 })
    const { rule_id } = await call<{ rule_id: string }>('POST', '/v1/rules', body)
    const caller = dial(noTeardown, 'tcp', listen_port, noHello)
    await caller.echo(10)
    caller.close()
    for (const url of [`/v1/rules/${rule_id}`, envelope, quota]) await call('DELETE', url)
  }
}

/** Reuses the same callers after their previous flows have timed out, so that each datagram opens a new flow. */
async function openFlows(world: World, port: number, { flows, concurrentFlows }: Workload): Promise<void> {
  const callers = await openCallers(concurrentFlows)
  for (let left = flows; left > 0; left -= concurrentFlows) {
    await forEachConcurrently(callers.slice(0, left), caller => exchangeDatagram(caller, port))
    await waitUntilIdle(world)
  }
  for (const caller of callers) caller.close()
}

/** Opens callers with different addresses: the loopback has more addresses than ports. */
async function openCallers(count: number): Promise<readonly Socket[]> {
  const port = await freePort()
  const callers = Array.from({ length: count }, () => createSocket('udp4'))
  await forEachConcurrently([...callers.entries()], async ([i, caller]) => {
    caller.bind(port, `127.1.${1 + (i >> 7)}.${1 + (i & 127)}`)
    await once(caller, 'listening')
  })
  return callers
}

/** Sends a datagram and waits for the answer. Repeats it, since the operating system drops some under load. */
async function exchangeDatagram(caller: Socket, port: number): Promise<void> {
  const answered = once(caller, 'message')
  caller.send('hello', port, host)
  const retry = setInterval(() => caller.send('hello', port, host), 1000)
  await answered
  clearInterval(retry)
}

async function forEachConcurrently<T>(list: readonly T[], task: (one: T) => Promise<void>): Promise<void> {
  const left = list.values()
  const work = async () => {
    for (const one of left) await task(one)
  }
  await Promise.all(Array.from({ length: 32 }, work))
}
