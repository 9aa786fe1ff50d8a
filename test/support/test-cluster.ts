// A real server with agent, in processes of their own, on free ports; what an end-to-end test stands on.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import { type Process, type Ran, sluice, start } from './process.ts'

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
  cli(args: readonly string[], input?: string): Promise<Ran>
  /** The command's result, which must succeed. */
  json<T>(...args: string[]): Promise<T>
  /** The API's answer, which must be good, at the cost of no process. */
  call<T>(method: string, path: string, body?: object, bearer?: string): Promise<T>
}

type Env = Readonly<Record<string, string>>

/** A test, or whoever else gives a folder and ends what was begun. */
export type TestFolder = Pick<Test, 'teardown' | 'testdir'>

/** `config` is TOML; a later start of either half reads what `configure` has written since. */
export async function testCluster(t: TestFolder, env: Env = {}, config = ''): Promise<TestCluster> {
  const dir = t.testdir()
  const configFile = join(dir, 'sluice.toml')
  const configure = (text: string): void => writeFileSync(configFile, text)
  configure(config)
  const up = async (listen: Env): Promise<Process> => {
    const server = start(t, ['server', '--data-dir', join(dir, 'server'), '--config', configFile], {
      SVC_OPERATOR_TOKEN: token,
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      ...listen,
      ...env
    })
    return server
  }
  const server = await up({
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0'
  })
  const started = await server.until('server.started')
  const origin = String(started['origin'])
  const controlPort = Number(started['control_port'])
  const cli = (args: readonly string[], input?: string): Promise<Ran> =>
    sluice(args, { SVC_SERVER: origin, SVC_TOKEN: token }, input)

  const found: TestCluster = {
    origin,
    controlPort,
    fingerprint: String(started['server_cert_sha256']),
    server,
    dir,
    configFile,
    configure,
    cli,
    async restart() {
      const after = await up({
        SVC_OPERATOR_HTTP_LISTEN: origin.slice('http://'.length),
        SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`
      })
      await after.until('server.started')
      found.server = after
    },
    async json<T>(...args: string[]) {
      const { code, stdout, stderr } = await cli([...args, '--output', 'json'])
      if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${code}\n${stderr}`)
      return JSON.parse(stdout) as T
    },
    async call<T>(method: string, path: string, body?: object, bearer = token) {
      const reply = await fetch(origin + path, {
        method,
        headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) })
      })
      const text = await reply.text()
      if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
      return (text === '' ? undefined : JSON.parse(text)) as T
    }
  }
  return found
}

export interface RunningAgent {
  readonly clientId: string
  readonly stateDir: string
  agent: Process
  /** The same agent again, from its saved state. */
  restart(): void
}

interface How {
  readonly env?: Env
  readonly args?: readonly string[] // of `agent run`
}

/** An enrolled agent, connected. */
export async function startAgent(
  t: TestFolder,
  on: TestCluster,
  name: string,
  { env = {}, args = [] }: How = {}
): Promise<RunningAgent> {
  const stateDir = join(on.dir, name)
  mkdirSync(stateDir, { mode: 0o700 })
  const { uri } = await on.call<{ uri: string }>('POST', '/v1/client-enrollments', { name })
  const run = (): Process =>
    start(t, ['agent', 'run', '--state-dir', stateDir, ...args], {
      SVC_LOG_LEVEL: 'debug',
      SVC_ENROLL_URI: uri, // at its first start
      ...env
    })
  const agent = run()
  const connected = on.server.until('client.connected', event => event['client_name'] === name)
  const ended = agent.exit.then(code => {
    throw new Error(`agent run: ${code}\n${agent.output()}`)
  })
  const { client_id: clientId } = await Promise.race([connected, ended])
  const found: RunningAgent = {
    clientId: String(clientId),
    stateDir,
    agent,
    restart() {
      found.agent = run()
    }
  }
  return found
}

/** A rule's stats, once they fit: reports come every five seconds, and the stream tells of each. */
export async function statsOf(
  { origin }: TestCluster,
  rule: string,
  fits: (stats: RuleStats) => boolean
): Promise<RuleStats> {
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await fetch(`${origin}/v1/rules/${rule}/stats/stream`, { headers })
  let said = ''
  for await (const part of body ?? []) {
    said += Buffer.from(part)
    const stats = JSON.parse([...said.matchAll(/^data: (.+)\n/gm)].at(-1)?.[1] ?? 'null') as RuleStats | null
    if (stats && fits(stats)) return stats
  }
  throw new Error(`the stream of stats has ended: ${said}`)
}
