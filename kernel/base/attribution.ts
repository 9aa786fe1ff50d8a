// Whose code runs: an error knows it, and so does a limit of time that is passed.
import { AsyncLocalStorage } from 'node:async_hooks'

/** A place, and the plugin whose value stands in it. */
export type Attribution = Readonly<Record<'slot' | 'filled_by', string>>

interface Running {
  readonly by: Attribution | undefined
  readonly inner: Set<Running>
}

const running = new AsyncLocalStorage<Running>()
const blamed = new WeakMap<Error, Attribution>()

/** For the log: whose value in a slot threw this, or what caused it; undefined where none did. */
export const attributionOf = (error: unknown): Attribution | undefined =>
  error instanceof Error ? (blamed.get(error) ?? attributionOf(error.cause)) : undefined

function enter(by?: Attribution) {
  const outer = running.getStore()?.inner
  const me: Running = { by, inner: new Set() }
  outer?.add(me)
  return { me, leave: () => void outer?.delete(me) }
}

/** Calls what stands in a slot. An error passes unchanged, and is known to be that of the innermost one. */
export function attributed<T>(by: Attribution, work: () => T): T {
  const { me, leave } = enter(by)
  const sign = (thrown: unknown): never => {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown)) // to tell whose it is
    if (!blamed.has(error)) blamed.set(error, by)
    throw error
  }
  try {
    const made = running.run(me, work)
    if (made instanceof Promise) return made.catch(sign).finally(leave) as T
    leave()
    return made
  } catch (error) {
    leave()
    return sign(error)
  }
}

/**
 * Rejects when it takes longer, by the machine's own time; the error says in whose hands it was. The work goes on, unheard.
 * Until then the process lives, be it for this alone: one that ended here would name nobody.
 */
export async function withTimeout<T>(secs: number, what: string, work: () => Promise<T>): Promise<T> {
  const { me, leave } = enter()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const by = oldest(me)
    const error = new Error(
      `${what} took more than ${secs} s${by ? `, in ${by.slot} of ${by.filled_by}` : ''}`
    )
    if (by) blamed.set(error, by)
    late.reject(error)
  }, secs * 1000)
  try {
    return await Promise.race([running.run(me, work), late.promise])
  } finally {
    leave()
    clearTimeout(timer)
  }
}

/** The innermost, on the way by those who have waited longest. */
function oldest({ by, inner: [next] }: Running): Attribution | undefined {
  return (next && oldest(next)) ?? by
}
