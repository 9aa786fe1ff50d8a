// Detects a stalled event loop with a worker thread, and handles uncaught errors. For server and agent.
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
 * The worker costs 10 MB, so an agent has it only with external plugins. Without them, the event loop itself logs a stall
 * after its end.
 */
export function startWatchdog({ watched, patienceMs, log, defer }: Options): void {
  const count = new Int32Array(new SharedArrayBuffer(4))
  const startWorker = (): Release => openWorker({ watched, patienceMs, beats: count.buffer }, log)
  const isWorkerNeeded = (): boolean => watched === 'server' || hasOutside()
  let stopWorker = isWorkerNeeded() ? startWorker() : null
  let beatAt = performance.now()
  // A real timer, not the clock service: it proves that the event loop runs.
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
    log.warn('watchdog.failed', `the ${workerData.watched} is no longer watched: ${error.message}`)
  )
  worker.unref()
  return async () => void (await worker.terminate())
}

/** Logs uncaught errors of external plugins. An error of sluice itself ends the process. */
function openUncaught(watched: Watched, log: Log) {
  const crashed = watched === 'server' ? 'server.crashed' : 'agent.crashed'
  const failures = new Map<string, number>()

  return function onUncaught(thrown: unknown): void {
    const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
    // The stack of a failed socket has only code of Node: then the plugin that started the work counts.
    const beginner = hasPluginCode(stack) ? undefined : runningOutside()
    const plugin = attributionOf(thrown)?.filled_by ?? beginner ?? pluginOfStack(stack, watched)
    if (beginner !== undefined || isBegunOutside(stack)) {
      const count = (failures.get(plugin) ?? 0) + 1
      failures.set(plugin, count)
      const isPowerOfTwo = (count & (count - 1)) === 0 // a timer that always fails must not fill the log
      if (isPowerOfTwo)
        log.error('plugin.failed', `uncaught error of ${plugin}, ${count} so far: ${reasonOf(thrown)}`, {
          plugin,
          hook: 'uncaught',
          error: stack
        })
      return
    }
    log.error(crashed, `${plugin} has ended the ${watched}: ${reasonOf(thrown)}`, { plugin, error: stack })
    process.off('uncaughtException', onUncaught)
    process.nextTick(() => {
      throw thrown // ends the process with Node's stack and exit code
    })
  }
}
