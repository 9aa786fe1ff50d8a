// Runs the agent as a second process of the same program.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Fault, internal } from '../../kernel/base/errors.ts'

const restartMs = 2_000

/** Passes the URI on standard input, because it has a secret code and the process list shows arguments. */
export async function enrollAgent(uri: string, stateDir: string): Promise<void> {
  const child = start(['agent', 'enroll', '-', '--state-dir', stateDir], 'pipe')
  child.stdin?.end(`${uri}\n`)
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Fault(internal, `the local agent could not enroll: exit ${code}`)
}

interface Running {
  /** Resolves when the agent has ended and does not restart: because of `signal`, or after `failed`. */
  readonly done: Promise<void>
  /** Rejects when the server has refused the agent. */
  readonly failed: Promise<never>
}

interface Options {
  readonly stateDir: string
  readonly signal: AbortSignal
  readonly force: AbortSignal
}

/** Runs the agent, and restarts it unless the server has refused its token (exit 4). */
export function runAgent({ stateDir, signal, force }: Options): Running {
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {}) // `up` handles it

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const child = start(['agent', 'run', '--state-dir', stateDir], 'ignore')
      const kill = (): void => void child.kill('SIGTERM')
      signal.addEventListener('abort', kill)
      force.addEventListener('abort', kill)
      const [code] = await once(child, 'exit')
      signal.removeEventListener('abort', kill)
      force.removeEventListener('abort', kill)
      if (signal.aborted) return
      if (code === 4) return failed.reject(new Fault(internal, 'the server has refused the local agent'))
      await once(AbortSignal.any([signal, AbortSignal.timeout(restartMs)]), 'abort')
    }
  }
  return { done: run(), failed: failed.promise }
}

/** Starts the agent in a separate process group, so that Ctrl-C reaches only this process, which then stops the agent. */
function start(args: readonly string[], stdin: 'pipe' | 'ignore'): ChildProcess {
  // SVC_METRICS_LISTEN is the server's port; the agent has SVC_AGENT_METRICS_LISTEN. It needs no operator token.
  const { SVC_METRICS_LISTEN: _, SVC_OPERATOR_TOKEN: __, ...env } = process.env
  return spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
    stdio: [stdin, 'inherit', 'inherit'],
    env,
    detached: true
  })
}
