// A real server and agents in separate processes, on free ports, for end-to-end tests.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import { type CommandResult, type Process, sluice, start } from './process.ts'

export const token = 'operator-token-of-the-end-to-end-suite-0123456789'

export interface TestCluster {
  readonly origin: string
  readonly controlPort: number
  readonly fingerprint: string
  server: Process
  readonly dir: string
  readonly configFile: string
  configure(text: string): void
  /** Starts the server again on the same ports and data. */
  restart(): Promise<void>
  cli(args: readonly string[], input?: string): Promise<CommandResult>
  /** Returns the result of a command; throws if it fails. */
  json<T>(...args: string[]): Promise<T>
  /** Calls the API without starting a process. Throws for an error response. */
  call<T>(method: string, path: string, body?: object, bearer?: string): Promise<T>
}

type Env = Readonly<Record<string, string>>

/** The parts of a test that these helpers use. Benches implement them, too. */
export type TestFolder = Pick<Test, 'teardown' | 'testdir'>

/** Starts a server. `config` is TOML; `configure` replaces it for later starts of server or agents. */
export async function testCluster(t: TestFolder, env: Env = {}, config = ''): Promise<TestCluster> {
  const dir = t.testdir()
  const configFile = join(dir, 'sluice.toml')
  const configure = (text: string): void => writeFileSync(configFile, text)
  configure(config)
  const startServer = (listen: Env): Process =>
    start(t, ['server', '--data-dir', join(dir, 'server'), '--config', configFile], {
      SVC_OPERATOR_TOKEN: token,
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      ...listen,
      ...env
    })
  const server = startServer({
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0'
  })
  const started = await server.until('server.started')
  const origin = String(started['origin'])
  const controlPort = Number(started['control_port'])
  const cli = (args: readonly string[], input?: string): Promise<CommandResult> =>
    sluice(args, { SVC_SERVER: origin, SVC_TOKEN: token }, input)

  const cluster: TestCluster = {
    origin,
    controlPort,
    fingerprint: String(started['server_cert_sha256']),
    server,
    dir,
    configFile,
    configure,
    cli,
    async restart() {
      const next = startServer({
        SVC_OPERATOR_HTTP_LISTEN: origin.slice('http://'.length),
        SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`
      })
      await next.until('server.started')
      cluster.server = next
    },
    async json<T>(...args: string[]) {
      const { code, stdout, stderr } = await cli([...args, '--output', 'json'])
      if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${code}\n${stderr}`)
      return JSON.parse(stdout) as T
    },
    call: (method, path, body, bearer = token) => callApi({ method, url: origin + path, body, bearer })
  }
  return cluster
}

interface ApiCall {
  readonly method: string
  readonly url: string
  readonly body: object | undefined
  readonly bearer: string
}

async function callApi<T>({ method, url, body, bearer }: ApiCall): Promise<T> {
  const reply = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) })
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${url}: ${reply.status} ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

export interface RunningAgent {
  readonly clientId: string
  readonly stateDir: string
  agent: Process
  /** Starts the agent again, from its saved state. */
  restart(): void
}

interface AgentOptions {
  readonly env?: Env
  readonly args?: readonly string[] // of `agent run`
  readonly program?: string // default: the checkout's program
}

/** Enrolls an agent, starts it, and waits until it has connected. */
export async function startAgent(
  t: TestFolder,
  cluster: TestCluster,
  name: string,
  { env = {}, args = [], program }: AgentOptions = {}
): Promise<RunningAgent> {
  const stateDir = join(cluster.dir, name)
  mkdirSync(stateDir, { mode: 0o700 })
  const { uri } = await cluster.call<{ uri: string }>('POST', '/v1/client-enrollments', { name })
  const run = (): Process =>
    start(
      t,
      ['agent', 'run', '--state-dir', stateDir, ...args],
      {
        SVC_LOG_LEVEL: 'debug',
        SVC_ENROLL_URI: uri, // for the first start only
        SVC_IDLE_PROBE: 'false', // targets of tests count their callers
        ...env
      },
      program
    )
  const agent = run()
  const connected = cluster.server.until('client.connected', event => event['client_name'] === name)
  const ended = agent.exit.then(code => {
    throw new Error(`agent run: ${code}\n${agent.output()}`)
  })
  const { client_id: clientId } = await Promise.race([connected, ended])
  const running: RunningAgent = {
    clientId: String(clientId),
    stateDir,
    agent,
    restart() {
      running.agent = run()
    }
  }
  return running
}

/** Resolves with the rule's stats once they fit. Agents report every five seconds. */
export async function statsOf(
  { origin }: TestCluster,
  rule: string,
  fits: (stats: RuleStats) => boolean
): Promise<RuleStats> {
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await fetch(`${origin}/v1/rules/${rule}/stats/stream`, { headers })
  let text = ''
  for await (const part of body ?? []) {
    text += Buffer.from(part)
    const stats = JSON.parse([...text.matchAll(/^data: (.+)\n/gm)].at(-1)?.[1] ?? 'null') as RuleStats | null
    if (stats && fits(stats)) return stats
  }
  throw new Error(`the stream of stats has ended: ${text}`)
}
