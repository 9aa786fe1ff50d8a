// The workers of the suite. A test file runs in an idle worker, or in a new one.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { forkChild, guardDirectory, killChild } from '../support/child-process.ts'

/** A worker limits each file, and names the test that hangs. */
export const fileTimeoutMs = Number(process.env['SUITE_FILE_MS'] ?? 300_000)
/** The pool kills a worker that no longer reacts. */
const workerTimeoutMs = 1.1 * fileTimeoutMs

export interface FileEnd {
  readonly hasPassed: boolean
  readonly leftovers: readonly string[] // see `findLeftovers`
}

/** A message from a worker: TAP output of its file, or the end of the file. */
export type FromWorker = { readonly text: string } | FileEnd

interface Worker {
  readonly child: ChildProcess
  readonly tmp: string // its TMPDIR
}

export interface WorkerPool {
  /** Returns the TAP output of a test file. The file starts when the output is first read. */
  run(file: string): Readable
  close(): Promise<void>
}

/** Opens an empty pool. Workers start with `env`. */
export function openWorkerPool(env: NodeJS.ProcessEnv): WorkerPool {
  const idle: Worker[] = []
  const all = new Set<Worker>()
  let jobId = Number(process.env['TAP_JOB_ID'] ?? 0) // selects the ports of a worker: see test/support/ports.ts

  function startWorker(): Worker {
    const tmp = mkdtempSync(join(tmpdir(), 'suite-'))
    guardDirectory(tmp)
    chmodSync(tmp, 0o755) // other users, such as services, must be able to enter it
    const workerEnv = { ...env, TMPDIR: tmp, TAP_JOB_ID: String(jobId++) }
    const worker = { child: forkChild(join(import.meta.dirname, 'worker.ts'), workerEnv), tmp }
    all.add(worker)
    return worker
  }

  async function end(worker: Worker): Promise<void> {
    await killChild(worker.child)
    rmSync(worker.tmp, { recursive: true, force: true })
    all.delete(worker)
  }

  async function runFile(file: string, output: Readable): Promise<void> {
    const worker = idle.pop() ?? startWorker()
    let isReusable = false
    try {
      const { hasPassed, leftovers } = await runIn(worker, file, output)
      if (leftovers.length > 0) throw new Error(`${file} left behind: ${leftovers.join(', ')}`)
      isReusable = hasPassed
    } finally {
      if (isReusable) idle.push(worker)
      else await end(worker)
    }
  }

  return {
    run(file) {
      let isStarted = false
      const output = new Readable({
        read() {
          if (isStarted) return
          isStarted = true
          runFile(file, output).then(
            () => void output.push(null),
            (error: Error) => void output.destroy(error)
          )
        }
      })
      return output
    },
    async close() {
      await Promise.all([...all].map(end))
    }
  }
}

/** Runs a file in a worker, and pushes its TAP to `output`. Rejects if the worker exits before the file has ended. */
async function runIn({ child }: Worker, file: string, output: Readable): Promise<FileEnd> {
  const over = new AbortController()
  const timer = setTimeout(() => child.kill('SIGKILL'), workerTimeoutMs)
  const fileEnd = new Promise<FileEnd>((resolve, reject) => {
    child.on('message', (message: FromWorker) => {
      if ('text' in message) output.push(message.text)
      else if ('leftovers' in message) resolve(message) // tap also sends messages
    })
    once(child, 'exit', over).then(
      ([code, signal]) => reject(new Error(`the process of ${file} ended: ${signal ?? code}`)),
      () => {} // the file ended first
    )
  })
  child.send(file)
  try {
    return await fileEnd
  } finally {
    clearTimeout(timer)
    over.abort()
    child.removeAllListeners('message')
  }
}
