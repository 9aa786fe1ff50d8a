// A real server, two honest agents, and traffic of an honest user that is counted at both ends.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { QuotaRow } from '../../plugins/quota/schema.ts'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import type { Traffic } from '../../plugins/traffic/schema.ts'
import { seededRandom } from '../bench/soak/seeded-random.ts'
import { freePort, skipPorts } from '../support/ports.ts'
import type { Process } from '../support/process.ts'
import { separateFrom } from '../support/processors.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  type TestFolder,
  testCluster,
  token
} from '../support/test-cluster.ts'
import { openQuietTenants, type QuietTenants } from './quiet-tenant.ts'
import type { Target } from './target.ts'

interface HonestRule {
  readonly id: string
  readonly port: number
  bytes: number // sent and received back
}

export interface World {
  readonly cluster: TestCluster
  readonly edges: readonly RunningAgent[]
  readonly target: Target
  readonly quiet: QuietTenants // on the first client
  /** Exchanges bytes through all rules until `stop`. Resolves with the number of exchanges; rejects if one fails. */
  traffic(stop: AbortSignal): Promise<number>
  /** Waits for all reports. Returns the differences between the counters and the bytes that both ends saw. */
  counterMismatches(): Promise<string[]>
}

const victim = 'ann'
const tenant = { userId: 'eve', password: 'correct horse battery staple' }

export async function openWorld(
  t: TestFolder,
  { seed, secs }: { seed: number; secs: number }
): Promise<World> {
  skipPorts(20_000, 20_999) // of the tenant's grant
  const cluster = await testCluster(t, {
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'collect-on-signal.ts')}`
  })
  const { call, server } = cluster
  separateFrom(server.pid)
  const { port: metricsPort } = await server.until('metrics.listening')
  const edges = [await startAgent(t, cluster, 'paris'), await startAgent(t, cluster, 'lyon')]
  await call('POST', '/v1/users', { user_id: victim, display_name: victim })
  for (const { clientId } of edges)
    await call('PUT', `/v1/users/${victim}/quotas/${clientId}`, { monthly_bytes: 2 ** 50 })
  const echo = await startEcho(t)
  const rules: HonestRule[] = []
  for (const { clientId } of edges)
    for (let i = 0; i < 2; i++) rules.push(await createRule(cluster, clientId, echo))

  return {
    cluster,
    edges,
    quiet: await openQuietTenants(t, cluster, { clientId: edges[0]?.clientId ?? '', echo }),
    target: {
      seed,
      secs,
      origin: cluster.origin,
      controlPort: cluster.controlPort,
      metricsPort: Number(metricsPort),
      fingerprint: cluster.fingerprint,
      operatorToken: token,
      enrollmentUri: await enrollmentUri(cluster),
      tenant: await createTenant(cluster),
      victim: {
        userId: victim,
        clientIds: edges.map(({ clientId }) => clientId),
        ruleIds: rules.map(({ id }) => id),
        ports: rules.map(({ port }) => port)
      }
    },
    traffic: stop => exchangeUntil(stop, rules, seed),
    counterMismatches: () => wrongBooks(cluster, edges, rules)
  }
}

async function createRule({ call }: TestCluster, clientId: string, echo: number): Promise<HonestRule> {
  const port = await freePort()
  const targets = [{ host: '127.0.0.1', port: echo }]
  const body = { client: clientId, owner: victim, listen_port: port, targets }
  const { rule_id } = await call<{ rule_id: string }>('POST', '/v1/rules', body)
  return { id: rule_id, port, bytes: 0 }
}

async function enrollmentUri({ call }: TestCluster): Promise<string> {
  const { uri } = await call<{ uri: string }>('POST', '/v1/client-enrollments', { name: 'mallory' })
  return uri
}

async function createTenant({ call }: TestCluster): Promise<Target['tenant']> {
  const { userId, password } = tenant
  await call('POST', '/v1/users', { user_id: userId, display_name: userId, initial_password: password })
  await call('POST', '/v1/grants', {
    user_id: userId,
    client_id: '*',
    listen_port_start: 20_000,
    listen_port_end: 20_999,
    protocols: ['tcp', 'udp']
  })
  const issued = await call<{ token: string }>('POST', `/v1/users/${userId}/credentials`, { label: 'attack' })
  return { ...tenant, token: issued.token }
}

async function startEcho(t: TestFolder): Promise<number> {
  const server = createServer(socket => void socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port
}

const exchangeTimeoutMs = 10_000

async function exchangeUntil(stop: AbortSignal, rules: readonly HonestRule[], seed: number): Promise<number> {
  const dice = seededRandom(seed)
  let exchanges = 0
  while (!stop.aborted) {
    for (const rule of rules) {
      const bytes = dice.size(17)
      await exchange(rule.port, bytes)
      rule.bytes += bytes
      exchanges++
    }
    await new Promise(resolve => setTimeout(resolve, 50)) // leaves CPU time to the others
  }
  return exchanges
}

/** Sends `bytes` through the port, half-closes, and reads them back. */
async function exchange(port: number, bytes: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' }).setTimeout(exchangeTimeoutMs)
  socket.on('timeout', () => socket.destroy(new Error(`no answer through port ${port}`)))
  socket.end(Buffer.alloc(bytes, 7))
  const received = await receivedBytes(socket)
  if (received !== bytes) throw new Error(`port ${port}: sent ${bytes} bytes, ${received} came back`)
}

async function receivedBytes(socket: Socket): Promise<number> {
  let received = 0
  for await (const chunk of socket) received += (chunk as Buffer).length
  return received
}

const reportedWithinMs = 30_000

async function wrongBooks(
  { call }: TestCluster,
  edges: readonly RunningAgent[],
  rules: readonly HonestRule[]
): Promise<string[]> {
  const total = rules.reduce((sum, { bytes }) => sum + bytes, 0)
  const read = async (): Promise<string[]> => {
    const wrong: string[] = []
    const compare = (what: string, found: number, expected: number): void => {
      if (found !== expected) wrong.push(`${what}: counted ${found}, expected ${expected}`)
    }
    for (const { id, bytes } of rules) {
      const { bytes_in, bytes_out } = await call<RuleStats>('GET', `/v1/rules/${id}/stats`)
      compare(`rule ${id}, in`, bytes_in, bytes)
      compare(`rule ${id}, out`, bytes_out, bytes)
    }
    const now = Math.floor(Date.now() / 1000)
    const path = `/v1/users/${victim}/traffic?bucket=1m&from=${now - 86_400}&to=${now + 120}`
    const { total_bytes_in, total_bytes_out } = await call<Traffic>('GET', path)
    compare('traffic, in', total_bytes_in, total)
    compare('traffic, out', total_bytes_out, total)
    let used = 0
    for (const { clientId } of edges)
      used += (await call<QuotaRow>('GET', `/v1/users/${victim}/quotas/${clientId}/status`)).bytes_used
    compare('quota', used, 2 * total)
    return wrong
  }
  for (const end = Date.now() + reportedWithinMs; ; ) {
    const wrong = await read()
    if (wrong.length === 0 || Date.now() > end) return wrong
    await new Promise(resolve => setTimeout(resolve, 500)) // agents report every five seconds
  }
}

export const eventsNamed = ({ events }: Process, names: readonly string[]): string[] =>
  events.filter(({ event }) => names.includes(event)).map(event => JSON.stringify(event).slice(0, 1000))
