// A real server with agent, in processes of their own, on free ports; what an end-to-end test stands on.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Process, type Ran, sluice, start } from './process.ts'

export const token = 'operator-token-of-the-end-to-end-suite-0123456789'

export interface Site {
  readonly origin: string
  readonly controlPort: number
  readonly fingerprint: string
  server: Process
  readonly dir: string
  /** Starts the server again on the same ports and data. */
  restart(): Promise<void>
  cli(args: readonly string[], input?: string): Promise<Ran>
  /** The command's result, which must succeed. */
  json<T>(...args: string[]): Promise<T>
}

type Env = Readonly<Record<string, string>>

export async function site(t: Test, env: Env = {}): Promise<Site> {
  const dir = t.testdir()
  const up = async (listen: Env): Promise<Process> => {
    const server = start(t, ['server', '--data-dir', join(dir, 'server')], {
      SVC_OPERATOR_TOKEN: token,
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

  const found: Site = {
    origin,
    controlPort,
    fingerprint: String(started['server_cert_sha256']),
    server,
    dir,
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
    }
  }
  return found
}

export interface Edge {
  readonly clientId: string
  readonly stateDir: string
  agent: Process
  /** The same agent again, from its saved state. */
  restart(): void
}

/** An enrolled agent, connected. */
export async function edge(t: Test, { json, server, dir }: Site, name: string, env: Env = {}): Promise<Edge> {
  const stateDir = join(dir, name)
  mkdirSync(stateDir, { mode: 0o700 })
  const { uri } = await json<{ uri: string }>('client', 'enroll', name)
  const enrolled = await sluice(['agent', 'enroll', '-', '--state-dir', stateDir], env, `${uri}\n`)
  if (enrolled.code !== 0) throw new Error(`enroll: ${enrolled.code}\n${enrolled.stderr}`)
  const run = (): Process =>
    start(t, ['agent', 'run', '--state-dir', stateDir], { SVC_LOG_LEVEL: 'debug', ...env })
  const agent = run()
  const { client_id: clientId } = await server.until(
    'client.connected',
    event => event['client_name'] === name
  )
  const found: Edge = {
    clientId: String(clientId),
    stateDir,
    agent,
    restart() {
      found.agent = run()
    }
  }
  return found
}
