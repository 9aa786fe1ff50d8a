// Helper processes, which get orders as lines of JSON and answer each with one line; and the resource usage of processes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Returns the CPU time of a process in ms. `withEnded` includes its ended children. */
export function cpuMsOf(pid: number, withEnded = false): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const ticks = fields.split(' ').slice(11, withEnded ? 15 : 13)
  return ticks.reduce((sum, each) => sum + Number(each) * 10, 0)
}

/** Returns the CPU time of a process and all its descendants in ms. */
export function cpuMsOfFamily(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + cpuMsOf(Number(child), true), cpuMsOf(pid, true))
}

export const residentMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

export interface Helper {
  /** Resolves with the answer to the order. */
  ask<A>(order: object): Promise<A>
  signal(name: NodeJS.Signals): void
  end(): Promise<void>
}

/** Starts a script of this folder. `env` is added to the environment of this process. */
export function startHelper(file: string, env: Readonly<Record<string, string>> = {}): Helper {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, file)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env }
  })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new TypeError('standard input and output must be pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  return {
    async ask<A>(order: object): Promise<A> {
      stdin.write(`${JSON.stringify(order)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`${file} has ended`)
      return JSON.parse(value) as A
    },
    signal: name => void child.kill(name),
    async end() {
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
    }
  }
}

/** Answers the orders of the parent process sequentially. */
export async function serveOrders<O>(answer: (order: O) => Promise<object>): Promise<void> {
  for await (const line of createInterface({ input: process.stdin }))
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as O))}\n`)
}
