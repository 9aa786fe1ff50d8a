import { setImmediate } from 'node:timers/promises'

/**
 * Returns a function that hands what it is given to `work` in groups: what came while the group before was worked on. `work`
 * resolves with what gives each its result. Each group has a turn of the event loop: what concerns all agents leaves room for
 * calls.
 */
export function grouped<T, R>(
  max: number,
  work: (group: readonly T[]) => Promise<(one: T) => R>
): (one: T) => Promise<R> {
  const waiting: { readonly one: T; readonly done: PromiseWithResolvers<R> }[] = []
  let isWorking = false

  async function workAll(): Promise<void> {
    while (waiting.length > 0) {
      await setImmediate() // whoever comes in the same turn shares a group
      const group = waiting.splice(0, max)
      try {
        const resultOf = await work(group.map(({ one }) => one))
        for (const { one, done } of group) done.resolve(resultOf(one))
      } catch (error) {
        for (const { done } of group) done.reject(error)
      }
    }
    isWorking = false
  }

  return one => {
    const done = Promise.withResolvers<R>()
    waiting.push({ one, done })
    if (!isWorking) void workAll()
    isWorking = true
    return done.promise
  }
}
