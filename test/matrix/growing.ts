// What an agent holds before and after much work: nothing of it may stay.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { readExposition } from '../support/exposition.ts'
import { freePort } from '../support/ports.ts'
import { get } from '../support/web.ts'
import { dial, openTarget } from './callers.ts'
import { soon, type World } from './world.ts'

export interface Work {
  readonly inTurn: number // connections
  readonly atOnce: number
  readonly rounds: number // of rules with every limit
  readonly flows: number
  readonly flowsAtOnce: number
}

export interface Held {
  readonly descriptors: number
  readonly timers: number
  readonly meters: number
  readonly residentMiB: number
  readonly heapMiB: number
}

const host = '127.0.0.1'
const nothing = Buffer.alloc(0)

/** As the agent and its process say, when nothing lives in it any more. */
export async function heldBy(world: World): Promise<Held> {
  const sum = await idle(world)
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

type Sum = (family: string, label?: string) => number

async function idle({ agentSays }: World): Promise<Sum> {
  const { port } = await agentSays('metrics.listening')
  for (;;) {
    const families = readExposition(await get(`http://${host}:${port}/metrics`))
    const sum: Sum = (family, label = '') =>
      [...(families.get(family)?.series ?? [])]
        .filter(([labels]) => labels.includes(label))
        .reduce((total, [, value]) => total + value, 0)
    if (sum('svc_agent_rule_active') === 0) return sum
    await soon()
  }
}

/** Each kind of work by itself. */
export interface Job {
  readonly name: string
  readonly run: () => Promise<void>
}

export async function jobs(t: Test, world: World, work: Work): Promise<readonly Job[]> {
  await world.call('POST', '/v1/users', { user_id: 'passing', display_name: 'passing' })
  const tcp = await echoRule(t, world, 'tcp')
  const udp = await echoRule(t, world, 'udp')
  return [
    { name: `${work.inTurn} connections in turn`, run: () => inTurn(tcp, work.inTurn) },
    { name: `${work.atOnce} connections at once`, run: () => atOnce(tcp, work.atOnce) },
    { name: `${work.rounds} rules with every limit`, run: () => rounds(t, world, work.rounds) },
    { name: `${work.flows} flows, ${work.flowsAtOnce} at once`, run: () => flows(world, udp, work) }
  ]
}

async function echoRule(t: Test, { call }: World, protocol: 'tcp' | 'udp'): Promise<number> {
  const [listen_port, port] = [await freePort(), await freePort()]
  await openTarget(t, protocol, port)
  await call('POST', '/v1/rules', { client: 'paris', protocol, listen_port, targets: [{ host, port }] })
  return listen_port
}

/** Whoever is dialled is hung up on by the job itself: a test must not remember thousands. */
const forgetful = { teardown() {} }

async function inTurn(port: number, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const caller = dial(forgetful, 'tcp', port, nothing)
    await caller.say(10)
    caller.close()
  }
}

async function atOnce(port: number, count: number): Promise<void> {
  const callers = Array.from({ length: count }, () => dial(forgetful, 'tcp', port, nothing))
  await Promise.all(callers.map(caller => caller.say(10)))
  for (const caller of callers) caller.close()
}

const everyCap = {
  bandwidth_in_bps: 80_000_000,
  bandwidth_out_bps: 80_000_000,
  concurrent_connections: 10,
  new_connections_per_sec: 10
}

async function rounds(t: Test, { call, clientId }: World, count: number): Promise<void> {
  const [listen_port, port] = [await freePort(), await freePort()]
  await openTarget(t, 'tcp', port)
  const envelope = `/v1/clients/${clientId}/owners/passing/rate-limit`
  const quota = `/v1/users/passing/quotas/${clientId}`
  const body = {
    client: 'paris',
    owner: 'passing',
    listen_port,
    targets: [{ host, port }],
    rate_limit: everyCap
  }
  for (let i = 0; i < count; i++) {
    await call('PUT', envelope, everyCap)
    await call('PUT', quota, { monthly_bytes: 1_000_000 })
    const { rule_id } = await call<{ rule_id: string }>('POST', '/v1/rules', body)
    const caller = dial(forgetful, 'tcp', listen_port, nothing)
    await caller.say(10)
    caller.close()
    for (const url of [`/v1/rules/${rule_id}`, envelope, quota]) await call('DELETE', url)
  }
}

/** The same callers again and again, each time as new flows: those before have idled out. */
async function flows(world: World, port: number, { flows, flowsAtOnce }: Work): Promise<void> {
  const callers = await openCallers(flowsAtOnce)
  for (let left = flows; left > 0; left -= flowsAtOnce) {
    await someAtOnce(callers.slice(0, left), caller => ask(caller, port))
    await idle(world)
  }
  for (const caller of callers) caller.close()
}

/** Callers by their addresses: the loopback has more of these than ports. */
async function openCallers(count: number): Promise<readonly Socket[]> {
  const port = await freePort()
  const callers = Array.from({ length: count }, () => createSocket('udp4'))
  await someAtOnce([...callers.entries()], async ([i, caller]) => {
    caller.bind(port, `127.1.${1 + (i >> 7)}.${1 + (i & 127)}`)
    await once(caller, 'listening')
  })
  return callers
}

/** What the kernel drops in a crowd is said again. */
async function ask(caller: Socket, port: number): Promise<void> {
  const answered = once(caller, 'message')
  caller.send('hello', port, host)
  const again = setInterval(() => caller.send('hello', port, host), 1000)
  await answered
  clearInterval(again)
}

async function someAtOnce<T>(list: readonly T[], task: (one: T) => Promise<void>): Promise<void> {
  const left = list.values()
  const work = async () => {
    for (const one of left) await task(one)
  }
  await Promise.all(Array.from({ length: 32 }, work))
}
