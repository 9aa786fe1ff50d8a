// Processes of sluice for end-to-end tests, with their log lines as events.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { killChild, signalGroup, spawnChild } from './child-process.ts'
import { storeEnv } from './process-store.ts'

/** Limits a wait. Shorter than the timeout of a test file, so that the error contains the log. */
const timeoutMs = 120_000

/** TEST_PROGRAM selects the program of an installed package or a build, instead of the checkout. */
export const program = (): string =>
  process.env['TEST_PROGRAM'] ?? join(import.meta.dirname, '..', '..', 'kernel', 'bin.ts')

export interface Event {
  readonly event: string
  readonly msg: string
  readonly level: string
  readonly [field: string]: unknown
}

export interface Process {
  readonly child: ChildProcess
  readonly pid: number
  /** All events so far. */
  readonly events: readonly Event[]
  readonly output: () => string
  /** Resolves with the first event of this name that `fits`. Skips the first `after` events. */
  until(event: string, fits?: (event: Event) => boolean, after?: number): Promise<Event>
  count(event: string): number
  /** Sends a signal to the process group. */
  signal(signal: NodeJS.Signals): void
  readonly exit: Promise<number | NodeJS.Signals>
}

type Env = Readonly<Record<string, string>>

/** Returns the environment of this process, with the store of the run and without variables that configure sluice. */
const envOf = (args: readonly string[], env: Env): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(SVC_|XDG_|STATE_)/.test(key))),
  ...storeEnv(args),
  ...env
})

export function start(
  t: Pick<Test, 'teardown'>,
  args: readonly string[],
  env: Env = {},
  path = program()
): Process {
  const child = spawnChild(process.execPath, [path, ...args], {
    env: envOf(args, env),
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const pid = child.pid
  if (pid === undefined) throw new Error('no process')
  const log = new EventLog(args.join(' '))
  child.stdout.on('data', chunk => log.addOutput(String(chunk)))
  createInterface({ input: child.stderr }).on('line', line => log.addLine(line))
  const exit = once(child, 'close').then(([code, signal]) => {
    log.end()
    return (code ?? signal) as number | NodeJS.Signals
  })
  const signal = (name: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null) signalGroup(pid, name)
  }
  t.teardown(async () => {
    await killChild(child)
    await exit
  })

  return {
    child,
    pid,
    events: log.events,
    output: () => log.output,
    count: event => log.events.filter(found => found.event === event).length,
    until: (event, fits, after) => log.until(event, fits, after),
    signal,
    exit
  }
}

/** Collects the output of a process and resolves waits for its events. */
class EventLog {
  readonly events: Event[] = []
  output = ''
  readonly #command: string
  readonly #checks = new Set<() => void>()
  #hasEnded = false

  constructor(command: string) {
    this.#command = command
  }

  addOutput(text: string): void {
    this.output += text
  }

  addLine(line: string): void {
    this.output += `${line}\n`
    if (!line.startsWith('{')) return
    this.events.push(JSON.parse(line) as Event)
    this.#checkAll()
  }

  end(): void {
    this.#hasEnded = true
    this.#checkAll()
  }

  until(event: string, fits: (event: Event) => boolean = () => true, after = 0): Promise<Event> {
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void =>
        reject(new Error(`${this.#command} ${reason} ${event}:\n${this.output.slice(-4000)}`))
      const stop = (): void => {
        this.#checks.delete(check)
        clearTimeout(timer)
      }
      const check = (): void => {
        const found = this.events.slice(after).find(one => one.event === event && fits(one))
        if (!found && !this.#hasEnded) return
        stop()
        if (found) resolve(found)
        else fail('ended without')
      }
      const timer = setTimeout(() => {
        stop()
        fail(`has not logged within ${timeoutMs / 1000} s`)
      }, timeoutMs).unref()
      this.#checks.add(check)
      check()
    })
  }

  #checkAll(): void {
    for (const check of this.#checks) check()
  }
}

export interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command and returns its exit code and output. */
export async function sluice(args: readonly string[], env: Env = {}, input = ''): Promise<CommandResult> {
  const child = spawnChild(process.execPath, [program(), ...args], { env: envOf(args, env), stdio: 'pipe' })
  child.stdin.on('error', () => {}) // the process may end without reading
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
