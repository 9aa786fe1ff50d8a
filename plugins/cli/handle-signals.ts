import type { CommandCall } from '../../kernel/cli/command.ts'

/**
 * Aborts `stop` at the first SIGTERM or SIGINT and `force` at the second. Returns a function that sets the listener for
 * SIGHUP. Without a listener SIGHUP is ignored, so a closed terminal never stops the command.
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
