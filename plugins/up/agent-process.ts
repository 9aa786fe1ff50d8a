// The agent as a second process of this machine: the same program, spoken to as anyone would.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Fault, internal } from '../../kernel/base/errors.ts'

const restartMs = 2_000

/** The code is a secret until it is used: it goes over standard input, not into the process list. */
export async function enrollAgent(uri: string, stateDir: string): Promise<void> {
  const child = start(['agent', 'enroll', '-', '--state-dir', stateDir], 'pipe')
  child.stdin?.end(`${uri}\n`)
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Fault(internal, `the local agent could not enroll: exit ${code}`)
}

interface Running {
  /** Settles when the agent has ended after a stop. */
  readonly done: Promise<void>
  /** Rejects when it ends for good by itself. */
  readonly failed: Promise<never>
}

interface Options {
  readonly stateDir: string
  readonly signal: AbortSignal
  readonly cut: AbortSignal
}

/** Runs it, and again when it dies of anything but a refusal: exit 4 means that its token no longer holds. */
export function runAgent({ stateDir, signal, cut }: Options): Running {
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {}) // seen by whoever races it

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const child = start(['agent', 'run', '--state-dir', stateDir], 'ignore')
      const kill = (): void => void child.kill('SIGTERM')
      signal.addEventListener('abort', kill)
      cut.addEventListener('abort', kill)
      const [code] = await once(child, 'exit')
      signal.removeEventListener('abort', kill)
      cut.removeEventListener('abort', kill)
      if (signal.aborted) return
      if (code === 4) return failed.reject(new Fault(internal, 'the local agent was refused by the server'))
      await once(AbortSignal.any([signal, AbortSignal.timeout(restartMs)]), 'abort')
    }
  }
  return { done: run(), failed: failed.promise }
}

/** Its own process group: Ctrl-C reaches this process alone, which then stops the agent in order. */
const start = (args: readonly string[], stdin: 'pipe' | 'ignore'): ChildProcess =>
  spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
    stdio: [stdin, 'inherit', 'inherit'],
    env: withoutServers(process.env),
    detached: true
  })

/** What the environment says of /metrics is the server's: the agent cannot listen there, too. */
const withoutServers = ({ SVC_METRICS_LISTEN: _, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv => env
