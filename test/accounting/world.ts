// Real processes: a server, two agents that connect through a proxy, and rules of two users.
import { chmodSync, cpSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { QuotaRow } from '../../plugins/quota/schema.ts'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import type { Traffic } from '../../plugins/traffic/schema.ts'
import { seededRandom } from '../bench/soak/seeded-random.ts'
import { freePort } from '../support/ports.ts'
import { type Event, type Process, sluice, start } from '../support/process.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  type TestFolder,
  testCluster,
  token
} from '../support/test-cluster.ts'
import type { Pair } from './compare-counters.ts'
import { cutLog } from './cut-log.ts'
import { type ControlProxy, openProxy } from './proxy.ts'
import { kindsOf, type RuleKind } from './rule-kinds.ts'
import type { Route } from './tcp-route.ts'

export interface Rule {
  readonly id: string
  readonly owner: string
  readonly edge: RunningAgent
  readonly kind: RuleKind
  readonly port: number
  readonly route: Route
}

/** A period reported by an agent that may not have counted all its bytes. */
export interface Gap {
  readonly clientId: string
  readonly fromMs: number
  readonly toMs: number
}

interface ServerControl {
  startServer(): Promise<void>
  killServer(): Promise<void>
  /** Returns the file of the backup. */
  backup(): Promise<string>
  /** Replaces the killed server. */
  restore(file: string): Promise<void>
  /** Returns the number of restores. */
  restored(): number
}

interface AgentControl {
  killAgent(edge: RunningAgent): Promise<void>
  /** Sends SIGTERM. The agent drains and reports before it ends. */
  stopAgent(edge: RunningAgent): Promise<void>
  /** Resolves when the agent has connected and opened its rules. */
  startAgent(edge: RunningAgent): Promise<void>
  rename(edge: RunningAgent, name: string): Promise<void>
  enrollAgain(edge: RunningAgent): Promise<void>
}

interface StateFiles {
  /** Copies the state of a stopped agent. */
  copyState(edge: RunningAgent): string
  /** Copies the state as a power cut would leave it. `keep` returns how many unsynced log frames remain. */
  copyAsAfterPowerCut(edge: RunningAgent, keep: (frames: number) => number): Promise<string>
  /** Swaps the agent's state and the copy. */
  swapState(edge: RunningAgent, copy: string): void
}

interface Counters {
  stats(rule: Rule): Promise<RuleStats>
  /** `path` ends with `?` or `&`. */
  traffic(path: string, fromSecs: number): Promise<Traffic>
  setQuota(pair: Pair, body: object): Promise<QuotaRow>
  quota(pair: Pair): Promise<QuotaRow>
}

export interface World extends ServerControl, AgentControl, StateFiles, Counters {
  readonly origin: string
  readonly cli: TestCluster['cli']
  readonly proxy: ControlProxy
  readonly edges: readonly RunningAgent[]
  readonly rules: readonly Rule[]
  readonly users: readonly string[]
  /** Resolves when all clients are connected. */
  connected(): Promise<void>
  /** Deletes the rule and creates it again, with new ends and new counters. */
  createAgain(rule: Rule): Promise<void>
  gaps(): Gap[]
  /** Returns log events of reports that failed to commit. */
  failedReports(): string[]
}

const users = ['ann', 'bob']

export async function openWorld(t: TestFolder, seed: number): Promise<World> {
  const controlPort = await freePort()
  const port = await freePort()
  const env = {
    SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`,
    SVC_ADVERTISED_ENDPOINT: `127.0.0.1:${port}`
  }
  const cluster = await testCluster(t, env)
  const pem = readFileSync(join(cluster.dir, 'server', 'control.pem'), 'utf8')
  const proxy = await openProxy(t, { port, controlPort, pem, dice: seededRandom(seed + 1) })
  const { origin, cli, call } = cluster
  const servers = [cluster.server]
  const edges = [await startAgent(t, cluster, 'paris'), await startAgent(t, cluster, 'lyon')]
  const rules = await createRules(t, cluster, edges)

  return {
    origin,
    cli,
    proxy,
    edges,
    rules,
    users,
    ...serverControl(t, { cluster, env, proxy, servers }),
    ...agentControl(cluster, rules),
    ...state,
    ...counters(cluster),
    async connected() {
      for (;;) {
        const rows = await call<{ connected: boolean }[]>('GET', '/v1/clients')
        if (rows.every(row => row.connected)) return
        await pause(50)
      }
    },
    async createAgain(rule) {
      await call('DELETE', `/v1/rules/${rule.id}`)
      rules.splice(rules.indexOf(rule), 1, await createRule(t, cluster, rule))
    },
    gaps: () =>
      eventsOf(servers, 'accounting.gap').map(({ client_id, from, to }) => ({
        clientId: String(client_id),
        fromMs: Date.parse(String(from)),
        toMs: Date.parse(String(to))
      })),
    failedReports: () => eventsOf(servers, 'accounting.not_committed').map(event => JSON.stringify(event))
  }
}

const eventsOf = (servers: readonly Process[], name: string): Event[] =>
  servers.flatMap(({ events }) => events.filter(({ event }) => event === name))

/** Creates a rule of each kind for each user on each client. */
async function createRules(t: TestFolder, cluster: TestCluster, edges: readonly RunningAgent[]) {
  const rules: Rule[] = []
  const sniPorts = await Promise.all(edges.map(() => freePort())) // shared by the rules of both users
  for (const owner of users) {
    await cluster.call('POST', '/v1/users', { user_id: owner, display_name: owner })
    for (const kind of await kindsOf(owner))
      for (const [i, edge] of edges.entries()) {
        const shared = kind.name === 'SNI' ? sniPorts[i] : undefined
        rules.push(await createRule(t, cluster, { owner, edge, kind, port: shared ?? (await freePort()) }))
      }
  }
  return rules
}

async function createRule(
  t: TestFolder,
  { call }: TestCluster,
  { owner, edge, kind, port }: Omit<Rule, 'id' | 'route'>
): Promise<Rule> {
  const route = await kind.open(t)
  const body = { client: edge.clientId, owner, listen_port: port }
  const target = { host: '127.0.0.1', port: route.targetPort }
  const { rule_id } = await call<{ rule_id: string }>('POST', '/v1/rules', { ...body, ...kind.body(target) })
  return { id: rule_id, owner, edge, kind, port, route }
}

interface ServerContext {
  readonly cluster: TestCluster
  readonly env: Readonly<Record<string, string>>
  readonly proxy: ControlProxy
  readonly servers: Process[] // all started servers
}

function serverControl(t: TestFolder, { cluster, env, proxy, servers }: ServerContext): ServerControl {
  let dataDir = join(cluster.dir, 'server')
  let restored = 0

  async function startServer(): Promise<void> {
    cluster.server = start(t, ['server', '--data-dir', dataDir, '--config', cluster.configFile], {
      ...env,
      SVC_OPERATOR_TOKEN: token,
      SVC_OPERATOR_HTTP_LISTEN: cluster.origin.slice('http://'.length),
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
    await cluster.server.until('server.started')
    servers.push(cluster.server)
  }

  return {
    startServer,
    async killServer() {
      cluster.server.signal('SIGKILL')
      await cluster.server.exit
    },
    async backup() {
      const file = join(cluster.dir, `backup-${restored}`)
      await runCommand(['backup', file, '--data-dir', dataDir])
      return file
    },
    async restore(file) {
      proxy.forgetReports()
      dataDir = join(cluster.dir, `server-${++restored}`)
      await runCommand(['restore', file, '--data-dir', dataDir])
      await startServer()
    },
    restored: () => restored
  }
}

const agentControl = ({ call }: TestCluster, rules: readonly Rule[]): AgentControl => ({
  async killAgent({ agent }) {
    agent.signal('SIGKILL')
    await agent.exit
  },
  async stopAgent({ agent }) {
    agent.signal('SIGTERM')
    const code = await agent.exit
    if (code !== 0) throw new Error(`the agent ended with ${code}:\n${agent.output().slice(-2000)}`)
  },
  async startAgent(edge) {
    edge.restart()
    await edge.agent.until('control.connected')
    const count = rules.filter(rule => rule.edge === edge).length
    while (edge.agent.count('rule.opened') < count) await pause(20)
  },
  async rename({ clientId }, name) {
    await call('PATCH', `/v1/clients/${clientId}/name`, { client_name: name })
  },
  async enrollAgain({ clientId, stateDir }) {
    const { uri } = await call<{ uri: string }>('POST', `/v1/clients/${clientId}/enrollment`, {})
    await runCommand(['agent', 'enroll', '-', '--state-dir', stateDir], `${uri}\n`)
  }
})

const state: StateFiles = {
  copyState({ stateDir }) {
    const copy = `${stateDir}-copy`
    rmSync(copy, { recursive: true, force: true })
    cpSync(stateDir, copy, { recursive: true })
    chmodSync(copy, 0o700) // cpSync does not copy the mode of a directory
    return copy
  },
  async copyAsAfterPowerCut(edge, keep) {
    edge.agent.signal('SIGSTOP')
    const copy = state.copyState(edge)
    edge.agent.signal('SIGCONT')
    cutLog(join(copy, 'state.db'), keep)
    return copy
  },
  swapState({ stateDir }, copy) {
    const aside = `${stateDir}-aside`
    renameSync(stateDir, aside)
    renameSync(copy, stateDir)
    renameSync(aside, copy)
  }
}

const counters = ({ call }: TestCluster): Counters => ({
  stats: rule => call<RuleStats>('GET', `/v1/rules/${rule.id}/stats`),
  traffic: (path, fromSecs) =>
    call<Traffic>('GET', `${path}from=${fromSecs}&to=${Math.floor(Date.now() / 1000) + 120}`),
  setQuota: (pair, body) => call<QuotaRow>('PUT', quotaOf(pair), body),
  quota: pair => call<QuotaRow>('GET', `${quotaOf(pair)}/status`)
})

const quotaOf = ({ user, clientId }: Pair): string => `/v1/users/${user}/quotas/${clientId}`

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

async function runCommand(args: readonly string[], input = ''): Promise<void> {
  const { code, stderr } = await sluice(args, {}, input)
  if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${code}\n${stderr}`)
}
