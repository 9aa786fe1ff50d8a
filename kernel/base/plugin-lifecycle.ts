import { runAs, withTimeout } from './attribution.ts'
import { Fault, pluginFailed, reasonOf } from './errors.ts'
import type { Release } from './releases.ts'

/** Runs the start of a plugin for at most 10 s. Errors except startup faults become a Fault that names the plugin. */
export async function startPlugin(plugin: string, work: () => Promise<void>): Promise<void> {
  try {
    await withTimeout(10, 'start', () => runAs(plugin, work))
  } catch (cause) {
    if (cause instanceof Fault && cause.errorCode.code.startsWith('startup.')) throw cause
    throw new Fault(pluginFailed, `plugin ${plugin} did not start: ${reasonOf(cause)}`, { cause })
  }
}

/** Limits a release of a plugin to 10 s. Its errors name the plugin. */
export const pluginRelease =
  (plugin: string, release: Release): Release =>
  () =>
    withTimeout(10, 'a release', async () => release()).catch((cause: unknown) => {
      throw new Error(`plugin ${plugin} did not stop: ${reasonOf(cause)}`, { cause })
    })
