/** Lets a few of those that wait go on in each turn of the event loop: what concerns all agents leaves room for calls. */
export function openYieldQueue(inATurn: number): () => Promise<void> {
  const waiting: (() => void)[] = []

  function goOn(): void {
    for (const resolve of waiting.splice(0, inATurn)) resolve()
    if (waiting.length > 0) setImmediate(goOn)
  }

  return () =>
    new Promise(resolve => {
      if (waiting.push(resolve) === 1) setImmediate(goOn)
    })
}
