// A server for as long as a command runs.
import { Fault, internal } from '../../kernel/base/errors.ts'
import { type Log, openLog } from '../../kernel/base/log.ts'
import type { RunningServer, ServeOptions } from '../../kernel/cli/command.ts'
import { boot, logReleaseFailure, type ServerOptions } from '../../kernel/kernel.ts'

interface Wanted {
  readonly onLog: ServeOptions['onLog'] | undefined
  readonly options: (log: Log) => ServerOptions
  readonly log: Parameters<typeof openLog>[0]
  readonly signal: AbortSignal
}

export async function serve({ options, log: logOptions, onLog, signal }: Wanted): Promise<RunningServer> {
  const log = await openLog(logOptions, onLog)
  const failed = Promise.withResolvers<void>()
  const onStoreFailure = (error: Error): void => {
    log.error('store.broken', `the disk failed a commit, the server stops: ${error.message}`)
    failed.reject(error)
  }
  const server = await boot({ ...options(log), onStoreFailure })
  signal.addEventListener('abort', () => failed.resolve(), { once: true })
  if (signal.aborted) failed.resolve()
  const done = failed.promise.finally(async () => {
    await server.stop().catch(failures => {
      logReleaseFailure(log)(failures)
      throw new Fault(internal, 'stopped, but not in order; the log says why')
    })
    log.info('server.stopped', 'stopped; agents go on with what they have')
  })
  done.catch(() => {}) // whoever awaits it later still sees it
  return { origin: server.origin, done }
}

/** The first signal asks, the second cuts; a terminal that closes is no reason to stop a daemon. */
export function handleSignals(stop: AbortController, cut: AbortController): void {
  const heed = (): void => (stop.signal.aborted ? cut : stop).abort()
  process.on('SIGTERM', heed)
  process.on('SIGINT', heed)
  process.on('SIGHUP', () => {})
}
