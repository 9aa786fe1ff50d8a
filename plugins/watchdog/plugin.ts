import { Worker } from 'node:worker_threads'
import { type Static, Type } from 'typebox'
import { reasonOf } from '../../kernel/base/errors.ts'
import { blame } from '../../kernel/base/within.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { ownerOfStack } from './owner.ts'
import type { Watched } from './watch.ts'

const config = Type.Object(
  {
    patience_secs: Type.Number({
      minimum: 0.1,
      maximum: 60,
      default: 5,
      description: 'How long code may hold the server up before the log names it.'
    })
  },
  { additionalProperties: false }
)

interface Deps extends Kernel<typeof config> {
  readonly config: Static<typeof config>
}

const beatsASpell = 10

export default definePlugin<Deps>({
  name: 'watchdog',
  version: '1.0.0',
  kernel: '^1.0.0',
  config,
  async start({ deps: { config, log }, defer }) {
    const beats = new SharedArrayBuffer(4)
    const patienceMs = config.patience_secs * 1000
    const worker = new Worker(new URL(`./watch.${import.meta.url.slice(-2)}`, import.meta.url), {
      workerData: { beats, patienceMs } satisfies Watched
    })
    worker.on('error', error => log.warn('watchdog.failed', `nobody watches the server: ${error.message}`))
    worker.unref()
    defer(async () => void (await worker.terminate()))
    const count = new Int32Array(beats)
    // Of the event loop itself, whatever time a test's clock shows.
    const beat = setInterval(() => Atomics.add(count, 0, 1), patienceMs / beatsASpell).unref()
    defer(() => clearInterval(beat))
    // A monitor: the process ends as it would without it.
    const end = (thrown: unknown): void => {
      const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
      const plugin = blame(thrown)?.filled_by ?? ownerOfStack(stack)
      log.error('server.crashed', `${plugin} has ended the server: ${reasonOf(thrown)}`, {
        plugin,
        error: stack
      })
    }
    process.on('uncaughtExceptionMonitor', end)
    defer(() => void process.off('uncaughtExceptionMonitor', end))
  }
})
