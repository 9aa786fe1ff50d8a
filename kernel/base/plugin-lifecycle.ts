import { withTimeout } from './attribution.ts'
import { Fault, pluginFailed, reasonOf } from './errors.ts'
import type { Release } from './releases.ts'

/** A plugin's start, of 10 s at most. Throws Fault: what is wrong with the start-up as it is, all else with its name. */
export async function startPlugin(plugin: string, work: () => Promise<void>): Promise<void> {
  try {
    await withTimeout(10, 'start', work)
  } catch (cause) {
    if (cause instanceof Fault && cause.errorCode.code.startsWith('startup.')) throw cause
    throw new Fault(pluginFailed, `plugin ${plugin} did not start: ${reasonOf(cause)}`, { cause })
  }
}

/** What a plugin has acquired, given back within 10 s; what fails says whose it is. */
export const pluginRelease =
  (plugin: string, release: Release): Release =>
  () =>
    withTimeout(10, 'a release', async () => release()).catch((cause: unknown) => {
      throw new Error(`plugin ${plugin} did not stop: ${reasonOf(cause)}`, { cause })
    })
