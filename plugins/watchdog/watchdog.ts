// For server and agent: a thread that notices a stalled event loop, and what becomes of errors that nobody catches.
import { Worker } from 'node:worker_threads'
import { runningOutside } from '../../config/external/containment.ts'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { hasPluginCode, isBegunOutside, pluginOfStack, type Watched } from './plugin-of.ts'
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
  const onUncaught = openUncaught(watched, log)
  process.on('uncaughtException', onUncaught)
  defer(() => void process.off('uncaughtException', onUncaught))
}

/** Contains what nobody catches in a plugin that is not built in. An error of sluice itself ends the process. */
function openUncaught(watched: Watched, log: Log) {
  const crashed = watched === 'server' ? 'server.crashed' : 'agent.crashed'
  const failures = new Map<string, number>()

  return function onUncaught(thrown: unknown): void {
    const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
    // A socket fails in code of Node alone: then it counts who has begun it.
    const beginner = hasPluginCode(stack) ? undefined : runningOutside()
    const plugin = attributionOf(thrown)?.filled_by ?? beginner ?? pluginOfStack(stack, watched)
    if (beginner !== undefined || isBegunOutside(stack)) {
      const count = (failures.get(plugin) ?? 0) + 1
      failures.set(plugin, count)
      const isPowerOfTwo = (count & (count - 1)) === 0 // a timer that always fails must not fill the log
      if (isPowerOfTwo)
        log.error(
          'plugin.failed',
          `nothing catches an error of ${plugin}, ${count} until now: ${reasonOf(thrown)}`,
          {
            plugin,
            hook: 'uncaught',
            error: stack
          }
        )
      return
    }
    log.error(crashed, `${plugin} has ended the ${watched}: ${reasonOf(thrown)}`, { plugin, error: stack })
    process.off('uncaughtException', onUncaught)
    process.nextTick(() => {
      throw thrown // now it ends the process, with the stack and the exit code of Node
    })
  }
}
