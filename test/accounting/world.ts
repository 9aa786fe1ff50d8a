// Real processes: a server, two agents that reach it through a proxy, and rules of two users.
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

/** A period reported by an agent in which it may not have counted all bytes. */
export interface Gap {
  readonly clientId: string
  readonly fromMs: number
  readonly toMs: number
}

export type World = Awaited<ReturnType<typeof openWorld>>

const users = ['ann', 'bob']

export async function openWorld(t: TestFolder, seed: number) {
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
    /** Resolves when all clients are connected. */
    async connected(): Promise<void> {
      for (;;) {
        const rows = await call<{ connected: boolean }[]>('GET', '/v1/clients')
        if (rows.every(row => row.connected)) return
        await pause(50)
      }
    },
    /** Deletes the rule and creates it again, with new ends and new counters. */
    async createAgain(rule: Rule): Promise<void> {
      await call('DELETE', `/v1/rules/${rule.id}`)
      rules.splice(rules.indexOf(rule), 1, await createRule(t, cluster, rule))
    },
    gaps: (): Gap[] =>
      eventsOf(servers, 'accounting.gap').map(({ client_id, from, to }) => ({
        clientId: String(client_id),
        fromMs: Date.parse(String(from)),
        toMs: Date.parse(String(to))
      })),
    failedReports: (): string[] =>
      eventsOf(servers, 'accounting.not_committed').map(event => JSON.stringify(event))
  }
}

const eventsOf = (servers: readonly Process[], name: string): Event[] =>
  servers.flatMap(({ events }) => events.filter(({ event }) => event === name))

/** Creates a rule of each kind for each user on each client. */
async function createRules(t: TestFolder, cluster: TestCluster, edges: readonly RunningAgent[]) {
  const rules: Rule[] = []
  const sniPorts = await Promise.all(edges.map(() => freePort())) // rules of both users share it
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
  readonly servers: Process[] // every one that was started
}

function serverControl(t: TestFolder, { cluster, env, proxy, servers }: ServerContext) {
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
    async killServer(): Promise<void> {
      cluster.server.signal('SIGKILL')
      await cluster.server.exit
    },
    async backup(): Promise<string> {
      const file = join(cluster.dir, `backup-${restored}`)
      await runCommand(['backup', file, '--data-dir', dataDir])
      return file
    },
    /** Replaces the server that was killed. */
    async restore(file: string): Promise<void> {
      proxy.forgetReports()
      dataDir = join(cluster.dir, `server-${++restored}`)
      await runCommand(['restore', file, '--data-dir', dataDir])
      await startServer()
    },
    restored: () => restored
  }
}

const agentControl = ({ call }: TestCluster, rules: readonly Rule[]) => ({
  async killAgent({ agent }: RunningAgent): Promise<void> {
    agent.signal('SIGKILL')
    await agent.exit
  },
  /** Stops the agent by SIGTERM: it drains and reports first. */
  async stopAgent({ agent }: RunningAgent): Promise<void> {
    agent.signal('SIGTERM')
    const code = await agent.exit
    if (code !== 0) throw new Error(`the agent ended with ${code}:\n${agent.output().slice(-2000)}`)
  },
  /** Resolves when the agent has connected and opened its rules. */
  async startAgent(edge: RunningAgent): Promise<void> {
    edge.restart()
    await edge.agent.until('control.connected')
    const count = rules.filter(rule => rule.edge === edge).length
    while (edge.agent.count('rule.opened') < count) await pause(20)
  },
  async rename({ clientId }: RunningAgent, name: string): Promise<void> {
    await call('PATCH', `/v1/clients/${clientId}/name`, { client_name: name })
  },
  async enrollAgain({ clientId, stateDir }: RunningAgent): Promise<void> {
    const { uri } = await call<{ uri: string }>('POST', `/v1/clients/${clientId}/enrollment`, {})
    await runCommand(['agent', 'enroll', '-', '--state-dir', stateDir], `${uri}\n`)
  }
})

/** Copies and replaces the state directory of an agent. */
const state = {
  /** Copies the state of a stopped agent. */
  copyState({ stateDir }: RunningAgent): string {
    const copy = `${stateDir}-copy`
    rmSync(copy, { recursive: true, force: true })
    cpSync(stateDir, copy, { recursive: true })
    chmodSync(copy, 0o700) // cpSync does not keep the mode of a directory
    return copy
  },
  /** Copies the state as a power cut would leave it; `keep` returns how many unsynced log frames remain. */
  async copyAsAfterPowerCut(edge: RunningAgent, keep: (frames: number) => number): Promise<string> {
    edge.agent.signal('SIGSTOP')
    const copy = state.copyState(edge)
    edge.agent.signal('SIGCONT')
    cutLog(join(copy, 'state.db'), keep)
    return copy
  },
  /** Exchanges the agent's state and the copy. */
  swapState({ stateDir }: RunningAgent, copy: string): void {
    const aside = `${stateDir}-aside`
    renameSync(stateDir, aside)
    renameSync(copy, stateDir)
    renameSync(aside, copy)
  }
}

const counters = ({ call }: TestCluster) => ({
  stats: (rule: Rule) => call<RuleStats>('GET', `/v1/rules/${rule.id}/stats`),
  /** `path` ends with `?` or `&`. */
  traffic: (path: string, fromSecs: number) =>
    call<Traffic>('GET', `${path}from=${fromSecs}&to=${Math.floor(Date.now() / 1000) + 120}`),
  setQuota: (pair: Pair, body: object) => call<QuotaRow>('PUT', quotaOf(pair), body),
  quota: (pair: Pair) => call<QuotaRow>('GET', `${quotaOf(pair)}/status`)
})

const quotaOf = ({ user, clientId }: Pair): string => `/v1/users/${user}/quotas/${clientId}`

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

async function runCommand(args: readonly string[], input = ''): Promise<void> {
  const { code, stderr } = await sluice(args, {}, input)
  if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${code}\n${stderr}`)
}
