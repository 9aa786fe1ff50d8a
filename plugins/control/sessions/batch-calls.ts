/** Returns a function that collects values while `work` runs, and passes them to the next `work` as a batch of at most `max`. */
export function batchCalls<T>(
  max: number,
  work: (group: readonly T[]) => Promise<void>
): (one: T) => Promise<void> {
  const waiting: { readonly one: T; readonly done: PromiseWithResolvers<void> }[] = []
  let isWorking = false

  async function workAll(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.splice(0, max)
      try {
        await work(group.map(({ one }) => one))
        for (const { done } of group) done.resolve()
      } catch (error) {
        for (const { done } of group) done.reject(error)
      }
    }
    isWorking = false
  }

  return one => {
    const done = Promise.withResolvers<void>()
    waiting.push({ one, done })
    if (!isWorking) setImmediate(() => void workAll()) // values of one turn of the event loop share a batch
    isWorking = true
    return done.promise
  }
}
