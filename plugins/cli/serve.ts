// A server for as long as a command runs.
import { Fault, internal } from '../../kernel/base/errors.ts'
import { type Log, openLog } from '../../kernel/base/log.ts'
import type { Serve, Serving } from '../../kernel/cli/command.ts'
import { boot, type Options, sayNotReleased } from '../../kernel/kernel.ts'

interface Wanted {
  readonly watch: Serve['watch'] | undefined
  readonly options: (log: Log) => Options
  readonly log: Parameters<typeof openLog>[0]
  readonly signal: AbortSignal
}

export async function serve({ options, log: how, watch, signal }: Wanted): Promise<Serving> {
  const log = await openLog(how, watch)
  const failed = Promise.withResolvers<void>()
  const broken = (error: Error): void => {
    log.error('store.broken', `the disk failed a commit, the server stops: ${error.message}`)
    failed.reject(error)
  }
  const server = await boot({ ...options(log), broken })
  signal.addEventListener('abort', () => failed.resolve(), { once: true })
  if (signal.aborted) failed.resolve()
  const done = failed.promise.finally(async () => {
    await server.stop().catch(failures => {
      sayNotReleased(log)(failures)
      throw new Fault(internal, 'stopped, but not in order; the log says why')
    })
    log.info('server.stopped', 'stopped; agents go on with what they have')
  })
  done.catch(() => {}) // whoever awaits it later still sees it
  return { origin: server.origin, done }
}

/** The first signal asks, the second cuts; a terminal that closes is no reason to stop a daemon. */
export function heedSignals(stop: AbortController, cut: AbortController): void {
  const heed = (): void => (stop.signal.aborted ? cut : stop).abort()
  process.on('SIGTERM', heed)
  process.on('SIGINT', heed)
  process.on('SIGHUP', () => {})
}
