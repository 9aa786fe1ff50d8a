// For server and agent: a thread that notices a stalled event loop, and what becomes of errors that nobody catches.
import { Worker } from 'node:worker_threads'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { hasOutside, runningOutside } from '../../kernel/platform/plugins/containment.ts'
import { hasPluginCode, isBegunOutside, pluginOfStack, type Watched } from './blamed-plugin.ts'
import type { WatchdogData } from './watchdog-worker.ts'

interface Options extends Omit<WatchdogData, 'beats'> {
  readonly log: Log
  readonly defer: (release: Release) => void
}

const beatsWithinPatience = 10

/**
 * An agent has its worker, which costs it 10 MB, only with plugins that are not built in. Without them a stall is logged
 * when it is over, by the event loop itself.
 */
export function startWatchdog({ watched, patienceMs, log, defer }: Options): void {
  const count = new Int32Array(new SharedArrayBuffer(4))
  const startWorker = (): Release => openWorker({ watched, patienceMs, beats: count.buffer }, log)
  const isWorkerNeeded = (): boolean => watched === 'server' || hasOutside()
  let stopWorker = isWorkerNeeded() ? startWorker() : null
  let beatAt = performance.now()
  // A real timer, not the clock service: it shows that the event loop itself moves.
  const beat = setInterval(() => {
    Atomics.add(count, 0, 1)
    const stalledMs = Math.round(performance.now() - beatAt)
    beatAt = performance.now()
    if (!stopWorker && stalledMs >= patienceMs)
      log.error('agent.stalled', `the agent was blocked for ${stalledMs / 1000} s`, {
        plugin: 'the agent',
        stalled_ms: stalledMs
      })
    if (isWorkerNeeded()) stopWorker ??= startWorker() // a reload has added a plugin
  }, patienceMs / beatsWithinPatience).unref()
  defer(() => clearInterval(beat))
  defer(() => stopWorker?.())
  const onUncaught = openUncaught(watched, log)
  process.on('uncaughtException', onUncaught)
  defer(() => void process.off('uncaughtException', onUncaught))
}

function openWorker(workerData: WatchdogData, log: Log): Release {
  const worker = new Worker(new URL(`./watchdog-worker.${import.meta.url.slice(-2)}`, import.meta.url), {
    workerData
  })
  worker.on('error', error =>
    log.warn('watchdog.failed', `the ${workerData.watched} is not watched any more: ${error.message}`)
  )
  worker.unref()
  return async () => void (await worker.terminate())
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
