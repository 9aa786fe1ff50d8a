// Attributes errors and timeouts to the plugin that was running.
import { AsyncLocalStorage } from 'node:async_hooks'

/** A slot, and the plugin that filled it. */
export type Attribution = Readonly<Record<'slot' | 'filled_by', string>>

interface ActiveCall {
  readonly by: Attribution | undefined
  readonly plugin: string | undefined // that runs
  readonly inner: Set<ActiveCall>
}

const activeCall = new AsyncLocalStorage<ActiveCall>()
const attributions = new WeakMap<Error, Attribution>()

/** Returns the slot and plugin that threw the error or one of its causes; undefined if no slot did. */
export const attributionOf = (error: unknown): Attribution | undefined =>
  error instanceof Error ? (attributions.get(error) ?? attributionOf(error.cause)) : undefined

function beginCall(by?: Attribution) {
  const outer = activeCall.getStore()
  const siblings = outer?.inner
  const call: ActiveCall = { by, plugin: by?.filled_by ?? outer?.plugin, inner: new Set() }
  siblings?.add(call)
  return { call, end: () => void siblings?.delete(call) }
}

/** Runs work of a plugin. Later failures of sockets and timers that it opens are attributed to the plugin. */
export const runAs = <T>(plugin: string | undefined, work: () => T): T =>
  activeCall.run({ by: undefined, inner: new Set(), ...activeCall.getStore(), plugin }, work)

/** Returns the plugin that started the current work. */
export const runningPlugin = (): string | undefined => activeCall.getStore()?.plugin

/** Calls the value of a slot. Errors pass unchanged and are attributed to the innermost slot. */
export function attributed<T>(by: Attribution, work: () => T): T {
  const { call, end } = beginCall(by)
  const rethrow = (thrown: unknown): never => {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown)) // a WeakMap needs an object
    if (!attributions.has(error)) attributions.set(error, by)
    throw error
  }
  try {
    const result = activeCall.run(call, work)
    if (result instanceof Promise) return result.catch(rethrow).finally(end) as T
    end()
    return result
  } catch (error) {
    end()
    return rethrow(error)
  }
}

/**
 * Rejects if `work` takes longer than `secs` of real time. The error is attributed to the slot that the work waits for.
 * The work is not cancelled, and its result is ignored. The timer keeps the process alive until the error is reported.
 */
export async function withTimeout<T>(secs: number, what: string, work: () => Promise<T>): Promise<T> {
  const { call, end } = beginCall()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const by = innermostOf(call)
    const place = by ? `, in ${by.slot} of ${by.filled_by}` : ''
    const error = new Error(`${what} took more than ${secs} s${place}`)
    if (by) attributions.set(error, by)
    late.reject(error)
  }, secs * 1000)
  try {
    return await Promise.race([activeCall.run(call, work), late.promise])
  } finally {
    end()
    clearTimeout(timer)
  }
}

/** Returns the innermost slot on the path of the longest-running calls. */
function innermostOf({ by, inner: [oldest] }: ActiveCall): Attribution | undefined {
  return (oldest && innermostOf(oldest)) ?? by
}
