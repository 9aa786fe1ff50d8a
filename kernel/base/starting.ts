import type { Clock } from './clock.ts'
import { Fault, pluginFailed, reasonOf } from './errors.ts'

const limitMs = 10_000

/** A plugin's start, of 10 s at most. Throws Fault: what is wrong with the start-up as it is, all else with its name. */
export async function starting(plugin: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const release = clock.after(limitMs, () =>
    late.reject(new Error(`start took more than ${limitMs / 1000} s`))
  )
  try {
    await Promise.race([work(), late.promise])
  } catch (cause) {
    if (cause instanceof Fault && cause.row.code.startsWith('startup.')) throw cause
    throw new Fault(pluginFailed, `plugin ${plugin} did not start: ${reasonOf(cause)}`, { cause })
  } finally {
    await release()
  }
}
