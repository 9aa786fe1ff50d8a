// One server and one agent, in processes of their own, and what the cells ask of them.
import { setTimeout as after } from 'node:timers/promises'
import type { Test } from 'tap'
import type { EngineName } from '../../agent/engine-selection.ts'
import { loadNative } from '../../native/index.ts'
import { readExposition } from '../support/exposition.ts'
import { freePort } from '../support/ports.ts'
import type { Process } from '../support/process.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  testCluster,
  token
} from '../support/test-cluster.ts'
import { dial, openTarget } from './callers.ts'

type Families = ReturnType<typeof readExposition>

export interface World {
  readonly clientId: string
  request(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }>
  /** What it answers, which must be no refusal. */
  call<T>(method: string, path: string, body?: object): Promise<T>
  agentSays: Process['until']
  agentPid(): number
  /** Server and agent are killed, the agent comes back alone, and all of these rules are open again. */
  goAway(ruleIds: readonly string[]): Promise<void>
  /** The server is there again, and so is its client. */
  comeBack(): Promise<void>
  /** Until everything that was forwarded before this call is in the server's books, and in `metric`. */
  settle(): Promise<void>
  metric(family: string, labels: Readonly<Record<string, string>>): number
}

export interface Stats {
  readonly bytes_in: number
  readonly bytes_out: number
  readonly connections_total: number
  readonly datagrams_in: number
  readonly datagrams_out: number
  readonly target_failovers: number
  readonly dns_failures: number
  readonly rejected: Readonly<Record<string, number>>
  readonly per_port: readonly { readonly listen_port: number; readonly bytes_in: number }[]
  readonly per_target: readonly {
    readonly port: number
    readonly bytes_in: number
    readonly bytes_out: number
  }[]
}

/** Those that this machine can run. */
export const engines: readonly EngineName[] = loadNative().ok ? ['portable', 'native'] : ['portable']

/** Before what only shows when it is asked for is asked for again. */
export const soon = (): Promise<void> => after(200)

/** Held long enough that whoever is held has read what was delivered, short enough to see the end of it. */
const config = 'quota_hold_secs = 2\n'

export async function openWorld(t: Test, engine: EngineName, more = ''): Promise<World> {
  const on = await testCluster(t, {}, config + more)
  const env = { SVC_ENGINE: engine, SVC_METRICS_LISTEN: '127.0.0.1:0' }
  const paris = await startAgent(t, on, 'paris', { env })
  const request = requester(on)
  const call = caller(request)
  const scrape = async (): Promise<Families> => {
    const { port } = await on.server.until('metrics.listening')
    return readExposition(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  }
  const booked = await openMarker(t, call, scrape)
  let families: Families = new Map()
  return {
    clientId: paris.clientId,
    request,
    call,
    agentSays: (event, fits) => paris.agent.until(event, fits),
    agentPid: () => paris.agent.pid,
    goAway: ruleIds => goAway(on, paris, ruleIds),
    async comeBack() {
      await on.restart()
      await on.server.until('client.connected')
    },
    async settle() {
      families = await booked()
    },
    metric: (family, labels) => readingOf(families, family, labels)
  }
}

function requester({ origin }: TestCluster): World['request'] {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async (method, path, body) => {
    const reply = await fetch(`${origin}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) })
    })
    const said = await reply.text()
    return { status: reply.status, body: said === '' ? null : JSON.parse(said) }
  }
}

const caller =
  (request: World['request']): World['call'] =>
  async <T>(method: string, path: string, body?: object) => {
    const reply = await request(method, path, body)
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply)}`)
    return reply.body as T // what the route's schema says
  }

/**
 * A report says everything up to an instant: once what passed last is booked, all else is. So is the time for which
 * it waited, since it was slow.
 */
async function openMarker(t: Test, call: World['call'], scrape: () => Promise<Families>) {
  const target = await openTarget(t, 'tcp', await freePort())
  const listen = await freePort()
  const { rule_id: rule } = await call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'paris',
    listen_port: listen,
    targets: [{ host: '127.0.0.1', port: target.port }],
    rate_limit: { bandwidth_in_bps: 80_000, bandwidth_in_burst_bytes: 100 }
  })
  return async () => {
    await dial(t, 'tcp', listen, Buffer.alloc(0)).say(1000)
    const booked = async () => (await call<Stats>('GET', `/v1/rules/${rule}/stats`)).bytes_in
    while ((await booked()) < target.received()) await soon()
    for (;;) {
      const families = await scrape()
      if (readingOf(families, 'svc_rate_limit_throttle_seconds_total', { rule }) > 0) return families
      await soon()
    }
  }
}

function readingOf(families: Families, family: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const series = [...(families.get(family)?.series ?? [])]
  return series.find(([written]) => wanted.every(label => written.split(',').includes(label)))?.[1] ?? 0
}

async function goAway(on: TestCluster, paris: RunningAgent, ruleIds: readonly string[]): Promise<void> {
  on.server.signal('SIGKILL')
  paris.agent.signal('SIGKILL')
  await Promise.all([on.server.exit, paris.agent.exit])
  paris.restart()
  const { agent } = paris
  await Promise.all(ruleIds.map(id => agent.until('rule.opened', ({ rule }) => rule === id)))
}
