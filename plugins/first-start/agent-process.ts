// Runs the agent as a second process of the same program.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Fault, internal, listenFailed, startupInvalid } from '../../kernel/base/errors.ts'

const restartMs = 2_000

/** Exit codes of starts that fail again: wrong arguments, a refused token, an invalid configuration. */
const finalCodes: readonly (number | null)[] = [2, 4, 78]

/** Throws Fault if the agent's configuration is invalid, or wants an address of the server. */
export async function requireAgentConfig(
  stateDir: string,
  serverKeys: Readonly<Record<string, unknown>>
): Promise<void> {
  const { readAgentConfig } = await import('../../agent/config.ts') // loads slowly
  const { metrics_listen: text } = readAgentConfig({ file: null, env: environment(), stateDir })
  if (text === undefined) return
  const { listensIn, overlap } = await import('../http/listener-exports.ts')
  const taken = listensIn(serverKeys).find(listen => overlap(listen.text, text))
  if (taken)
    throw new Fault(
      listenFailed,
      `SVC_AGENT_METRICS_LISTEN ${text} is the port of ${taken.key} ${taken.text} of the server; give the agent another port`
    )
}
const denyKey = 'SVC_AGENT_DENY_LOCAL_PORTS'

/**
 * Enrolls over `endpoint`, which the agent also uses when no advertised one leads to this server. Passes the URI on standard
 * input, because it has a secret code and the process list shows arguments.
 */
export async function enrollAgent(uri: string, stateDir: string, endpoint: string): Promise<void> {
  const child = start(['agent', 'enroll', '-', '--state-dir', stateDir], 'pipe')
  child.stdin?.end(`${uri.replace(/^svc:\/\/[^/]+/, `svc://${endpoint}`)}\n`)
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Fault(internal, `the local agent could not enroll: exit ${code}`)
  const { readBundle, writeBundle } = await import('../../agent/stream/bundle.ts')
  const file = join(stateDir, 'bundle.json')
  const bundle = readBundle(file)
  if (bundle) writeBundle(file, { ...bundle, server_endpoint: endpoint })
}

interface Running {
  /** Resolves when the agent has ended and does not restart: because of `signal`, or after `failed`. */
  readonly done: Promise<void>
  /** Rejects when the agent cannot start: the server has refused it, or its configuration is invalid. */
  readonly failed: Promise<never>
}

interface Options {
  readonly stateDir: string
  /** Ports of the server, which no rule of the agent may use as target: tenants would read its metrics. */
  readonly serverPorts: ReadonlySet<number>
  readonly signal: AbortSignal
  readonly force: AbortSignal
}

/** Runs the agent, and restarts it unless a restart would fail again. */
export function runAgent({ stateDir, serverPorts, signal, force }: Options): Running {
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {}) // `up` handles it

  const configured = process.env[denyKey] || process.env['SVC_DENY_LOCAL_PORTS']
  const denied = [...(configured ? [configured] : []), ...serverPorts].join(',')

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const child = start(['agent', 'run', '--state-dir', stateDir], 'ignore', { [denyKey]: denied })
      const kill = (): void => void child.kill('SIGTERM')
      signal.addEventListener('abort', kill)
      force.addEventListener('abort', kill)
      const [code] = await once(child, 'exit')
      signal.removeEventListener('abort', kill)
      force.removeEventListener('abort', kill)
      if (signal.aborted) return
      if (code === 4) return failed.reject(new Fault(internal, 'the server has refused the local agent'))
      if (finalCodes.includes(code))
        return failed.reject(
          new Fault(startupInvalid, `the local agent cannot start: exit ${code}; see above`)
        )
      await once(AbortSignal.any([signal, AbortSignal.timeout(restartMs)]), 'abort')
    }
  }
  return { done: run(), failed: failed.promise }
}

/** Starts the agent in a separate process group, so that Ctrl-C reaches only this process, which then stops the agent. */
function start(
  args: readonly string[],
  stdin: 'pipe' | 'ignore',
  more: NodeJS.ProcessEnv = {}
): ChildProcess {
  return spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
    stdio: [stdin, 'inherit', 'inherit'],
    env: { ...environment(), ...more },
    detached: true
  })
}

/** SVC_METRICS_LISTEN is the server's port; the agent has SVC_AGENT_METRICS_LISTEN. It needs no operator token. */
function environment(): NodeJS.ProcessEnv {
  const { SVC_METRICS_LISTEN: _, SVC_OPERATOR_TOKEN: __, ...env } = process.env
  return env
}
