import { systemClock } from '../../../kernel/base/clock.ts'
import { Fault, internal } from '../../../kernel/base/errors.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { RunningServer, ServeOptions } from '../../../kernel/cli/command.ts'
import { boot, logReleaseFailure, type ServerOptions } from '../../../kernel/kernel.ts'
import { openLog } from '../../../kernel/platform/log.ts'
import { containedClock } from '../../../kernel/platform/plugins/containment.ts'
import { validateSettings } from '../../../kernel/settings.ts'
import type { openStore } from '../../../kernel/store/open.ts'
import { openConfigReload, type Reread } from './config-reload.ts'
import { openStoreFile } from './open-store-file.ts'
import { serverLife } from './server-life.ts'
import { waitForStore } from './wait-for-store.ts'
import { watchDisk } from './watch-disk.ts'

interface Options {
  readonly onLog: ServeOptions['onLog'] | undefined
  readonly options: (log: Log) => ServerOptions
  readonly reread: () => Reread
  readonly log: Parameters<typeof openLog>[0]
  readonly signal: AbortSignal
  readonly isPatient: boolean
}

const refusalLogMs = 60_000

/** Runs a server until `signal` is aborted or the store fails. */
export async function serve({
  options,
  reread,
  log: logOptions,
  onLog,
  signal,
  isPatient
}: Options): Promise<RunningServer> {
  const log = await openLog(logOptions, onLog)
  const failed = Promise.withResolvers<void>()
  let refusedAt = Number.NEGATIVE_INFINITY
  const onStoreFailure = (error: Error): void => {
    if (error instanceof Fault) {
      if (performance.now() - refusedAt < refusalLogMs) return
      refusedAt = performance.now()
      log.error('store.unavailable', error.message)
      return
    }
    log.error('store.broken', `a commit failed on disk, so the server stops: ${error.message}`)
    failed.reject(error)
  }
  const started = options(log)
  const openDisk = (file: string) =>
    watchDisk(file, {
      onFailure: onStoreFailure,
      onCopied: copy => log.info('store.copied', 'the store was copied before its migration', { file: copy })
    })
  const openWatched: typeof openStore = (place, stores) => {
    const open = () => openStoreFile(place, stores, openDisk)
    if (!isPatient || typeof place === 'string') return open()
    return waitForStore({ open, keys: validateSettings(started.plugins, started).server, log, signal })
  }
  const server = await boot({
    ...started,
    openStore: openWatched,
    clockOf: plugin => containedClock(systemClock, plugin, log)
  })
  signal.addEventListener('abort', () => failed.resolve(), { once: true })
  if (signal.aborted) failed.resolve()
  const done = failed.promise.finally(async () => {
    await server.stop().catch(failures => {
      logReleaseFailure(log)(failures)
      throw new Fault(internal, 'some resources were not released; see the log')
    })
    log.info('server.stopped', 'stopped; agents keep forwarding')
  })
  done.catch(() => {}) // the caller may await it later
  const life = serverLife(server, started.plugins)
  life.ready()
  const reload = openConfigReload({ server, plugins: started.plugins, started, reread, life, log })
  return { origin: server.origin, reload, done }
}
