// What both halves do: a thread looks whether the event loop moves, and what nobody catches is named before the end.
import { Worker } from 'node:worker_threads'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { ownerOfStack } from './owner.ts'
import type { Watched } from './watch.ts'

interface Watch extends Omit<Watched, 'beats'> {
  readonly log: Log
  readonly defer: (release: Release) => void
}

const beatsASpell = 10

export function keepWatch({ whom, patienceMs, log, defer }: Watch): void {
  const beats = new SharedArrayBuffer(4)
  const worker = new Worker(new URL(`./watch.${import.meta.url.slice(-2)}`, import.meta.url), {
    workerData: { whom, beats, patienceMs } satisfies Watched
  })
  worker.on('error', error => log.warn('watchdog.failed', `nobody watches the ${whom}: ${error.message}`))
  worker.unref()
  defer(async () => void (await worker.terminate()))
  const count = new Int32Array(beats)
  // Of the event loop itself, whatever time a test's clock shows.
  const beat = setInterval(() => Atomics.add(count, 0, 1), patienceMs / beatsASpell).unref()
  defer(() => clearInterval(beat))
  // A monitor: the process ends as it would without it.
  const crashed = whom === 'server' ? 'server.crashed' : 'agent.crashed'
  const end = (thrown: unknown): void => {
    const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
    const plugin = attributionOf(thrown)?.filled_by ?? ownerOfStack(stack, whom)
    log.error(crashed, `${plugin} has ended the ${whom}: ${reasonOf(thrown)}`, {
      plugin,
      error: stack
    })
  }
  process.on('uncaughtExceptionMonitor', end)
  defer(() => void process.off('uncaughtExceptionMonitor', end))
}
