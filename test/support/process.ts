// Real processes for end-to-end tests: each in a process group of its own, its log read as events.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

/** Less than a test file may take: who waits in vain is shown the log. */
const patienceMs = 120_000

const bin = join(import.meta.dirname, '..', '..', 'kernel', 'bin.ts')

export interface Event {
  readonly event: string
  readonly msg: string
  readonly level: string
  readonly [field: string]: unknown
}

export interface Process {
  readonly child: ChildProcess
  readonly pid: number
  /** Every event so far. */
  readonly events: readonly Event[]
  readonly output: () => string
  /** The next event of this name that `fits`, from the start of the log or from `after` events on. */
  until(event: string, fits?: (event: Event) => boolean, after?: number): Promise<Event>
  count(event: string): number
  /** To the whole group. */
  signal(signal: NodeJS.Signals): void
  readonly exit: Promise<number | NodeJS.Signals>
}

type Env = Readonly<Record<string, string>>

/** The environment of whoever runs the tests, without what would configure sluice. */
const cleanEnv = (env: Env): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(SVC_|XDG_|STATE_)/.test(key))),
  ...env
})

export function start(t: Pick<Test, 'teardown'>, args: readonly string[], env: Env = {}): Process {
  const child = spawn(process.execPath, [bin, ...args], {
    env: cleanEnv(env),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const pid = child.pid
  if (pid === undefined) throw new Error('no process')
  const events: Event[] = []
  const waiting = new Set<() => void>()
  let output = ''
  const wake = (): void => {
    for (const look of waiting) look()
  }
  child.stdout.on('data', chunk => {
    output += chunk
  })
  createInterface({ input: child.stderr }).on('line', line => {
    output += `${line}\n`
    if (!line.startsWith('{')) return
    events.push(JSON.parse(line) as Event)
    wake()
  })
  const exit = once(child, 'close').then(([code, signal]) => {
    wake()
    return (code ?? signal) as number | NodeJS.Signals
  })
  const signal = (name: NodeJS.Signals): void => {
    if (child.exitCode !== null || child.signalCode !== null) return
    process.kill(-pid, name)
  }
  t.teardown(async () => {
    signal('SIGCONT')
    signal('SIGKILL')
    await exit
  })

  return {
    child,
    pid,
    events,
    output: () => output,
    count: event => events.filter(found => found.event === event).length,
    until: (event, fits = () => true, after = 0) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = events.slice(after).find(candidate => candidate.event === event && fits(candidate))
          const isOver = child.exitCode !== null || child.signalCode !== null
          if (!found && !isOver) return
          settle()
          if (found) resolve(found)
          else reject(missing('ended without'))
        }
        const missing = (why: string): Error =>
          new Error(`${args.join(' ')} ${why} ${event}:\n${output.slice(-4000)}`)
        const settle = (): void => {
          waiting.delete(look)
          clearTimeout(late)
        }
        const late = setTimeout(() => {
          settle()
          reject(missing(`has for ${patienceMs / 1000} s not said`))
        }, patienceMs).unref()
        waiting.add(look)
        look()
      }),
    signal,
    exit
  }
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A command that ends by itself. */
export async function sluice(args: readonly string[], env: Env = {}, input = ''): Promise<Ran> {
  const child = spawn(process.execPath, [bin, ...args], { env: cleanEnv(env), stdio: 'pipe' })
  child.stdin.on('error', () => {}) // it may end without reading
  child.stdin.end(input)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}
