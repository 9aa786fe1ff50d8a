import type { CommandCall } from '../../kernel/cli/command.ts'

/**
 * The first signal aborts `stop`, the second `force`. SIGHUP calls the listener that the returned function is given; without
 * one it is ignored. In both cases a closed terminal stops nothing.
 */
export function handleSignals(
  stop: AbortController,
  force: AbortController
): CommandCall<object>['onReload'] {
  let reload = (): void => {}
  const onSignal = (): void => (stop.signal.aborted ? force : stop).abort()
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('SIGHUP', () => reload())
  return listener => {
    reload = listener
  }
}
