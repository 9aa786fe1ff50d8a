// For server and agent: a thread that notices a stalled event loop, and a log line for errors that end the process.
import { Worker } from 'node:worker_threads'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { pluginOfStack } from './plugin-of.ts'
import type { WatchdogData } from './worker.ts'

interface Options extends Omit<WatchdogData, 'beats'> {
  readonly log: Log
  readonly defer: (release: Release) => void
}

const beatsWithinPatience = 10

export function startWatchdog({ watched, patienceMs, log, defer }: Options): void {
  const beats = new SharedArrayBuffer(4)
  const worker = new Worker(new URL(`./worker.${import.meta.url.slice(-2)}`, import.meta.url), {
    workerData: { watched, beats, patienceMs } satisfies WatchdogData
  })
  worker.on('error', error =>
    log.warn('watchdog.failed', `the ${watched} is not watched any more: ${error.message}`)
  )
  worker.unref()
  defer(async () => void (await worker.terminate()))
  const count = new Int32Array(beats)
  // A real timer, not the clock service: it shows that the event loop itself moves.
  const beat = setInterval(() => Atomics.add(count, 0, 1), patienceMs / beatsWithinPatience).unref()
  defer(() => clearInterval(beat))
  const crashed = watched === 'server' ? 'server.crashed' : 'agent.crashed'
  const logCrash = (thrown: unknown): void => {
    const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
    const plugin = attributionOf(thrown)?.filled_by ?? pluginOfStack(stack, watched)
    log.error(crashed, `${plugin} has ended the ${watched}: ${reasonOf(thrown)}`, {
      plugin,
      error: stack
    })
  }
  process.on('uncaughtExceptionMonitor', logCrash) // a monitor does not keep the process from ending
  defer(() => void process.off('uncaughtExceptionMonitor', logCrash))
}
