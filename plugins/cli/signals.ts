/** The first signal aborts `stop`, the second `force`. SIGHUP is ignored, so that a closed terminal stops nothing. */
export function handleSignals(stop: AbortController, force: AbortController): void {
  const onSignal = (): void => (stop.signal.aborted ? force : stop).abort()
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('SIGHUP', () => {})
}
