// A server process, an agent process, and requests to both.
import { setTimeout as after } from 'node:timers/promises'
import type { Test } from 'tap'
import type { EngineName } from '../../agent/engine/select-engine.ts'
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

type MetricFamilies = ReturnType<typeof readExposition>

export interface World {
  readonly clientId: string
  request(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }>
  /** Returns the response body; throws for an error response. */
  call<T>(method: string, path: string, body?: object): Promise<T>
  agentLogged: Process['until']
  agentPid(): number
  /** Kills server and agent, restarts the agent alone, and waits until it has opened these rules again. */
  restartAgentAlone(ruleIds: readonly string[]): Promise<void>
  /** Starts the server again and waits until the client has connected. */
  restartServer(): Promise<void>
  /** Waits until the server has counted all traffic before this call, then updates `metric`. */
  waitForReports(): Promise<void>
  /** Returns 0 if no series has these labels. */
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

/** The engines that this machine can run. */
export const engines: readonly EngineName[] = loadNative().ok ? ['portable', 'native'] : ['portable']

/** Interval between polls. */
export const retryDelay = (): Promise<void> => after(200)

/** Long enough for a connection to read all delivered bytes, short enough to wait for its reset. */
const config = 'quota_hold_secs = 2\n'

export async function openWorld(t: Test, engine: EngineName, more = ''): Promise<World> {
  const cluster = await testCluster(t, {}, config + more)
  const env = { SVC_ENGINE: engine, SVC_METRICS_LISTEN: '127.0.0.1:0' }
  const paris = await startAgent(t, cluster, 'paris', { env })
  const request = requestTo(cluster)
  const call = callWith(request)
  const scrape = async (): Promise<MetricFamilies> => {
    const { port } = await cluster.server.until('metrics.listening')
    return readExposition(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  }
  const waitForReports = await openMarker(t, call, scrape)
  let families: MetricFamilies = new Map()
  return {
    clientId: paris.clientId,
    request,
    call,
    agentLogged: (event, fits) => paris.agent.until(event, fits),
    agentPid: () => paris.agent.pid,
    restartAgentAlone: ruleIds => restartAgentAlone(cluster, paris, ruleIds),
    async restartServer() {
      await cluster.restart()
      await cluster.server.until('client.connected')
    },
    async waitForReports() {
      families = await waitForReports()
    },
    metric: (family, labels) => metricValue(families, family, labels)
  }
}

function requestTo({ origin }: TestCluster): World['request'] {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async (method, path, body) => {
    const reply = await fetch(`${origin}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) }
  }
}

const callWith =
  (request: World['request']): World['call'] =>
  async <T>(method: string, path: string, body?: object) => {
    const reply = await request(method, path, body)
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply)}`)
    return reply.body as T // guaranteed by the route's schema
  }

/**
 * Creates a throttled rule and returns a function that sends through it and waits until its bytes and its throttle time
 * are counted. A report covers all traffic up to one instant, so earlier traffic is counted by then, too.
 */
async function openMarker(t: Test, call: World['call'], scrape: () => Promise<MetricFamilies>) {
  const target = await openTarget(t, 'tcp', await freePort())
  const listen = await freePort()
  const { rule_id: rule } = await call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'paris',
    listen_port: listen,
    targets: [{ host: '127.0.0.1', port: target.port }],
    rate_limit: { bandwidth_in_bps: 80_000, bandwidth_in_burst_bytes: 100 }
  })
  return async () => {
    await dial(t, 'tcp', listen, Buffer.alloc(0)).echo(1000)
    const countedBytes = async () => (await call<Stats>('GET', `/v1/rules/${rule}/stats`)).bytes_in
    while ((await countedBytes()) < target.received()) await retryDelay()
    for (;;) {
      const families = await scrape()
      if (metricValue(families, 'svc_rate_limit_throttle_seconds_total', { rule }) > 0) return families
      await retryDelay()
    }
  }
}

function metricValue(
  families: MetricFamilies,
  family: string,
  labels: Readonly<Record<string, string>>
): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const series = [...(families.get(family)?.series ?? [])]
  return series.find(([written]) => wanted.every(label => written.split(',').includes(label)))?.[1] ?? 0
}

async function restartAgentAlone(
  cluster: TestCluster,
  paris: RunningAgent,
  ruleIds: readonly string[]
): Promise<void> {
  cluster.server.signal('SIGKILL')
  paris.agent.signal('SIGKILL')
  await Promise.all([cluster.server.exit, paris.agent.exit])
  paris.restart()
  const { agent } = paris
  await Promise.all(ruleIds.map(id => agent.until('rule.opened', ({ rule }) => rule === id)))
}
