import { dirname, resolve } from 'node:path'
import { importExternal } from '../../../config/plugins.ts'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import type { ConfigFile } from '../../../kernel/platform/config-file.ts'
import { type Builtin, loadPlugins, pluginSections } from '../../../kernel/platform/plugins/load-plugins.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import type { Slot } from '../../../kernel/slot.ts'
import { type CommandModule, filledBare, type Manifests, withExtraArgs } from './installed-commands.ts'
import { refuseDuplicateCommands } from './refuse-duplicate-commands.ts'

/** Loads all manifests. `own`: the commands that belong to no plugin. Throws Fault. */
export async function loadManifests(
  builtin: Builtin<Plugin>,
  { commands: own = [] }: CommandModule,
  file: ConfigFile | null
): Promise<Manifests> {
  const { plugins, sections, specifiers, firstTrusted } = await loadPlugins<Plugin>({
    half: 'plugin',
    builtin,
    table: file === null ? {} : pluginSections(file.table, file.placeOf),
    placeOf: file?.placeOf,
    baseDir: file === null ? process.cwd() : dirname(resolve(file.path)),
    importExternal
  })
  refuseDuplicateCommands(plugins, own)
  const ordered = (): Plugin[] => inDependencyOrder(plugins) // lazy, so that a start reports a dependency cycle with all other problems
  const filled = <T>(slot: Slot<T>) => filledBare(slot, ordered())
  const commands = [...own, ...plugins.flatMap(({ commands }) => commands ?? [])]
  return {
    plugins,
    sections,
    specifiers,
    firstTrusted,
    commands: commands.map(command => ({ command: withExtraArgs(command, filled), filled }))
  }
}
