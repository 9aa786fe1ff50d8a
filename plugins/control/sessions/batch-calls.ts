/** Returns a function that hands what it is given to `work` in groups: what came while the group before was worked on. */
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
    if (!isWorking) setImmediate(() => void workAll()) // whoever comes in the same turn of the event loop shares a group
    isWorking = true
    return done.promise
  }
}
