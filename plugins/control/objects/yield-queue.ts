/** Returns a function that resolves its callers in order, at most `perTurn` in each turn of the event loop. */
export function openYieldQueue(perTurn: number): () => Promise<void> {
  const waiting: (() => void)[] = []

  function resolveNext(): void {
    for (const resolve of waiting.splice(0, perTurn)) resolve()
    if (waiting.length > 0) setImmediate(resolveNext)
  }

  return () =>
    new Promise(resolve => {
      if (waiting.push(resolve) === 1) setImmediate(resolveNext)
    })
}
