// A server, two agents behind a proxy, and rules of two users: real processes between the two ends that the test has.
import { cpSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { QuotaRow } from '../../plugins/quota/schema.ts'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import type { Traffic } from '../../plugins/traffic/schema.ts'
import { seededRandom } from '../bench/soak/seeded-random.ts'
import { freePort } from '../support/ports.ts'
import { sluice, start } from '../support/process.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  type TestFolder,
  testCluster,
  token
} from '../support/test-cluster.ts'
import type { Pair } from './audit.ts'
import type { Route } from './ends.ts'
import { type Kind, kindsOf } from './kinds.ts'
import { loseLog } from './power.ts'
import { openProxy } from './proxy.ts'

export interface Rule {
  readonly id: string
  readonly owner: string
  readonly edge: RunningAgent
  readonly kind: Kind
  readonly port: number
  readonly route: Route
}

/** A time in which an agent may not have counted all bytes, as it reported. */
export interface Gap {
  readonly clientId: string
  readonly fromMs: number
  readonly toMs: number
}

export type World = Awaited<ReturnType<typeof openWorld>>

const users = ['ann', 'bob']

export async function openWorld(t: TestFolder, seed: number) {
  const [controlPort, port] = [await freePort(), await freePort()]
  const env = {
    SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`,
    SVC_ADVERTISED_ENDPOINT: `127.0.0.1:${port}`
  }
  const on: TestCluster = await testCluster(t, env)
  const pem = readFileSync(join(on.dir, 'server', 'control.pem'), 'utf8')
  const proxy = await openProxy(t, { port, controlPort, pem, dice: seededRandom(seed + 1) })
  const { call } = on
  const events = [on.server]
  const edges = [await startAgent(t, on, 'paris'), await startAgent(t, on, 'lyon')]
  const rules: Rule[] = []

  async function push(rule: Omit<Rule, 'id' | 'route'>): Promise<Rule> {
    const { owner, edge: at, kind, port } = rule
    const route = await kind.open(t)
    const body = { client: at.clientId, owner, listen_port: port }
    const target = { host: '127.0.0.1', port: route.target }
    const made = await call<{ rule_id: string }>('POST', '/v1/rules', { ...body, ...kind.body(target) })
    return { ...rule, id: made.rule_id, route }
  }

  const sniPorts = await Promise.all(edges.map(() => freePort())) // rules of both users share it
  for (const owner of users) {
    await call('POST', '/v1/users', { user_id: owner, display_name: owner })
    for (const kind of await kindsOf(owner))
      for (const [i, at] of edges.entries()) {
        const shared = kind.name === 'SNI' ? sniPorts[i] : undefined
        rules.push(await push({ owner, edge: at, kind, port: shared ?? (await freePort()) }))
      }
  }

  async function serverFrom(dir: string): Promise<void> {
    on.server = start(t, ['server', '--data-dir', dir, '--config', on.configFile], {
      ...env,
      SVC_OPERATOR_TOKEN: token,
      SVC_OPERATOR_HTTP_LISTEN: on.origin.slice('http://'.length),
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
    await on.server.until('server.started')
    events.push(on.server)
  }

  let dataDir = join(on.dir, 'server')
  let restored = 0

  return {
    origin: on.origin,
    cli: on.cli,
    proxy,
    edges,
    rules,
    users,
    call,
    async connected(): Promise<void> {
      for (;;) {
        const rows = await call<{ connected: boolean }[]>('GET', '/v1/clients')
        if (rows.every(row => row.connected)) return
        await pause(50)
      }
    },
    async killServer(): Promise<void> {
      on.server.signal('SIGKILL')
      await on.server.exit
    },
    startServer: () => serverFrom(dataDir),
    async backup(): Promise<string> {
      const file = join(on.dir, `backup-${restored}`)
      await succeeds(['backup', file, '--data-dir', dataDir])
      return file
    },
    /** Replaces the server that was killed. */
    async restore(file: string): Promise<void> {
      proxy.forget()
      dataDir = join(on.dir, `server-${++restored}`)
      await succeeds(['restore', file, '--data-dir', dataDir])
      await serverFrom(dataDir)
    },
    restored: () => restored,
    async killAgent({ agent }: RunningAgent): Promise<void> {
      agent.signal('SIGKILL')
      await agent.exit
    },
    /** Stops it in order: it reports and drains first. */
    async stopAgent({ agent }: RunningAgent): Promise<void> {
      agent.signal('SIGTERM')
      const code = await agent.exit
      if (code !== 0) throw new Error(`the agent ended with ${code}:\n${agent.output().slice(-2000)}`)
    },
    async startAgent(at: RunningAgent): Promise<void> {
      at.restart()
      await at.agent.until('control.connected')
      const open = rules.filter(rule => rule.edge === at).length
      while (at.agent.count('rule.opened') < open) await pause(20)
    },
    /** Copies the state of a stopped agent. */
    copyState({ stateDir }: RunningAgent): string {
      const copy = `${stateDir}-copy`
      rmSync(copy, { recursive: true, force: true })
      cpSync(stateDir, copy, { recursive: true })
      return copy
    },
    /** Copies the state as a power cut would leave it now, without the end of the unsynced log. */
    async copyAtOnce({ agent, stateDir }: RunningAgent, keep: (frames: number) => number): Promise<string> {
      agent.signal('SIGSTOP')
      const copy = `${stateDir}-copy`
      rmSync(copy, { recursive: true, force: true })
      cpSync(stateDir, copy, { recursive: true })
      agent.signal('SIGCONT')
      loseLog(join(copy, 'state.db'), keep)
      return copy
    },
    /** Exchanges the agent's state and the copy. */
    swapState({ stateDir }: RunningAgent, copy: string): void {
      const aside = `${stateDir}-aside`
      renameSync(stateDir, aside)
      renameSync(copy, stateDir)
      renameSync(aside, copy)
    },
    async rename({ clientId }: RunningAgent, name: string): Promise<void> {
      await call('PATCH', `/v1/clients/${clientId}/name`, { client_name: name })
    },
    async enrollAgain({ clientId, stateDir }: RunningAgent): Promise<void> {
      const { uri } = await call<{ uri: string }>('POST', `/v1/clients/${clientId}/enrollment`, {})
      await succeeds(['agent', 'enroll', '-', '--state-dir', stateDir], `${uri}\n`)
    },
    /** Deletes the rule and creates it again, with new ends and new counters. */
    async pushAgain(rule: Rule): Promise<void> {
      await call('DELETE', `/v1/rules/${rule.id}`)
      rules.splice(rules.indexOf(rule), 1, await push(rule))
    },
    stats: (rule: Rule) => call<RuleStats>('GET', `/v1/rules/${rule.id}/stats`),
    /** `path` ends with `?` or `&`. */
    traffic: (path: string, fromSecs: number) =>
      call<Traffic>('GET', `${path}from=${fromSecs}&to=${Math.floor(Date.now() / 1000) + 120}`),
    setQuota: (pair: Pair, body: object) => call<QuotaRow>('PUT', quotaOf(pair), body),
    quota: (pair: Pair) => call<QuotaRow>('GET', `${quotaOf(pair)}/status`),
    gaps: (): Gap[] =>
      events.flatMap(server =>
        server.events
          .filter(({ event }) => event === 'accounting.gap')
          .map(({ client_id, from, to }) => ({
            clientId: String(client_id),
            fromMs: Date.parse(String(from)),
            toMs: Date.parse(String(to))
          }))
      ),
    refused: (): string[] =>
      events.flatMap(server =>
        server.events
          .filter(({ event }) => event === 'accounting.not_booked')
          .map(event => JSON.stringify(event))
      )
  }
}

const quotaOf = ({ user, clientId }: Pair): string => `/v1/users/${user}/quotas/${clientId}`

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

async function succeeds(args: readonly string[], input = ''): Promise<void> {
  const { code, stderr } = await sluice(args, {}, input)
  if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${code}\n${stderr}`)
}
