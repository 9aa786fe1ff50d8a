// A server, two agents behind a proxy, and rules of two users: real processes, whose both ends the test holds.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import type { Traffic } from '../../plugins/traffic/schema.ts'
import type { Dice } from '../bench/soak/dice.ts'
import { freePort } from '../kit/ports.ts'
import { sluice, start } from '../kit/process.ts'
import { type Edge, edge, type Ground, type Site, site, token } from '../kit/site.ts'
import { openRoute, type Route } from './ends.ts'
import { type ControlProxy, openProxy } from './proxy.ts'

export interface Rule {
  id: string
  readonly owner: string
  readonly edge: Edge
  port: number
  readonly route: Route
}

/** Bytes that a killed agent may not have counted: its own word. */
export interface Gap {
  readonly clientId: string
  readonly fromMs: number
  readonly toMs: number
}

export type World = Awaited<ReturnType<typeof openWorld>>

const users = ['ann', 'bob']

export async function openWorld(t: Ground, dice: Dice) {
  const controlPort = await freePort()
  const proxy: ControlProxy = await openProxy(t, dice, controlPort)
  const env = {
    SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`,
    SVC_ADVERTISED_ENDPOINT: `127.0.0.1:${proxy.port}`
  }
  const on: Site = await site(t, env)
  const call = callerOf(on)
  const events = [on.server]
  const edges = [await edge(t, on, 'paris'), await edge(t, on, 'lyon')]
  for (const user of users) await call('POST', '/v1/users', { user_id: user, display_name: user })
  const rules: Rule[] = []

  async function push(owner: string, at: Edge, route: Route): Promise<Rule> {
    const port = await freePort()
    const targets = [{ host: '127.0.0.1', port: route.target }]
    const body = { client: at.clientId, owner, listen_port: port, targets }
    const { rule_id: id } = await call<{ rule_id: string }>('POST', '/v1/rules', body)
    return { id, owner, edge: at, port, route }
  }

  for (const at of edges) for (const owner of users) rules.push(await push(owner, at, await openRoute(t)))

  async function connected(): Promise<void> {
    for (;;) {
      const rows = await call<{ connected: boolean }[]>('GET', '/v1/clients')
      if (rows.every(row => row.connected)) return
      await pause(50)
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
  let backups = 0

  return {
    origin: on.origin,
    cli: on.cli,
    proxy,
    edges,
    rules,
    users,
    call,
    connected,
    async killServer(): Promise<void> {
      on.server.signal('SIGKILL')
      await on.server.exit
    },
    startServer: () => serverFrom(dataDir),
    async backup(): Promise<string> {
      const file = join(on.dir, `backup-${backups}`)
      await succeeds(['backup', file, '--data-dir', dataDir])
      return file
    },
    /** In the place of the server that was killed. */
    async restore(file: string): Promise<void> {
      dataDir = join(on.dir, `server-${++backups}`)
      await succeeds(['restore', file, '--data-dir', dataDir])
      await serverFrom(dataDir)
    },
    async killAgent({ agent }: Edge): Promise<void> {
      agent.signal('SIGKILL')
      await agent.exit
    },
    async startAgent(at: Edge): Promise<void> {
      at.restart()
      await at.agent.until('control.connected')
      const open = rules.filter(rule => rule.edge === at).length
      while (at.agent.count('rule.opened') < open) await pause(20)
    },
    /** As a power cut leaves it: all at one moment. */
    async copyState({ agent, stateDir }: Edge): Promise<string> {
      agent.signal('SIGSTOP')
      const copy = `${stateDir}-copy`
      rmSync(copy, { recursive: true, force: true })
      cpSync(stateDir, copy, { recursive: true })
      agent.signal('SIGCONT')
      return copy
    },
    putBack({ stateDir }: Edge, copy: string): void {
      rmSync(stateDir, { recursive: true })
      cpSync(copy, stateDir, { recursive: true })
    },
    async rename({ clientId }: Edge, name: string): Promise<void> {
      await call('PATCH', `/v1/clients/${clientId}/name`, { client_name: name })
    },
    async enrollAgain({ clientId, stateDir }: Edge): Promise<void> {
      const { uri } = await call<{ uri: string }>('POST', `/v1/clients/${clientId}/enrollment`, {})
      await succeeds(['agent', 'enroll', '-', '--state-dir', stateDir], `${uri}\n`)
    },
    /** The rule goes and comes anew on another port, its ends stay; its own count begins anew. */
    async pushAgain(rule: Rule): Promise<void> {
      await call('DELETE', `/v1/rules/${rule.id}`)
      const route = await openRoute(t)
      rules.splice(rules.indexOf(rule), 1, await push(rule.owner, rule.edge, route))
    },
    stats: (rule: Rule) => call<RuleStats>('GET', `/v1/rules/${rule.id}/stats`),
    traffic: (path: string, fromSecs: number) =>
      call<Traffic>('GET', `${path}/traffic?from=${fromSecs}&to=${Math.floor(Date.now() / 1000) + 120}`),
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
    warnings: (): string[] =>
      events.flatMap(server =>
        server.events
          .filter(({ event }) => /^accounting\.(lower_value|not_booked)$/.test(event))
          .map(event => JSON.stringify(event))
      )
  }
}

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

function callerOf({ origin }: Site) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async <T>(method: string, path: string, body?: object): Promise<T> => {
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const reply = await fetch(origin + path, init)
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T // as the route's schema says
  }
}

async function succeeds(args: readonly string[], input = ''): Promise<void> {
  const { code, stderr } = await sluice(args, {}, input)
  if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${code}\n${stderr}`)
}
