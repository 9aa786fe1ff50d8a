import { join, resolve } from 'node:path'
import { Fault, pluginFailed, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { pathArgument } from '../../kernel/platform/path-problem.ts'
import { loadBuiltinPlugins } from '../../kernel/platform/plugins/builtin-plugins.ts'
import { resolvePlugin } from '../../kernel/platform/plugins/resolve-plugin.ts'
import { loadCatalogue, pickPlugin, readSource, settingsFor } from './catalogue.ts'
import { describePlugin } from './describe-plugin.ts'
import { details, overview } from './list-columns.ts'
import { kinds, scaffold } from './scaffold.ts'
import { isKind, type Kind } from './scaffold-parts.ts'
import { trust as record } from './trust/plugin-lock.ts'

const config = Type.Optional(
  Type.String({ description: 'TOML configuration of the server or the agent; default SVC_CONFIG.' })
)

const list = defineCommand({
  name: 'plugin list',
  summary: 'List the loaded plugins: what each adds, and its permissions.',
  args: Type.Object({
    plugin: Type.Optional(Type.String({ description: 'Show only this plugin, in full.' })),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const loaded = await loadCatalogue(await loadBuiltinPlugins(), config ?? env['SVC_CONFIG'])
    if (plugin !== undefined) {
      const picked = await withPluginName(plugin, () => pickPlugin(loaded, plugin))
      return print.data(describePlugin(picked, picked.name), details)
    }
    const names = new Set([...loaded.servers, ...loaded.agents].map(({ name }) => name))
    const rows = [...names].sort().map(name => describePlugin(loaded, name))
    print.data(rows, overview, 'Show one plugin in full: sluice plugin list NAME')
  }
})

const reference = defineCommand({
  name: 'plugin reference',
  summary: 'Print the reference of one or all loaded plugins as Markdown.',
  args: Type.Object({
    plugin: Type.Optional(
      Type.String({
        description: 'Name of the plugin, its key in the configuration, or its folder; default: all.'
      })
    ),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const { makeReference } = await import('./reference/page.ts') // loads slowly, and only this command needs it
    const loaded = await loadCatalogue(await loadBuiltinPlugins(), config ?? env['SVC_CONFIG'])
    const page = await withPluginName(plugin ?? 'reference', async () =>
      makeReference(plugin === undefined ? loaded : await pickPlugin(loaded, plugin))
    )
    print.value('reference', page.trimEnd())
  }
})

const create = defineCommand({
  name: 'plugin new',
  summary: 'Create a plugin with passing tests, as a starting point.',
  args: Type.Object({
    name: Type.String({ description: 'Name of the plugin, such as rate-limit.' }),
    dir: Type.Optional(Type.String({ description: 'Folder; default: the name.' })),
    kind: Type.Optional(
      Type.String({
        description: `What the plugin adds, one or more separated by commas: ${kinds.join(', ')}; default: ${kinds[0]}.`
      })
    )
  }),
  positional: ['name'],
  needs: 'nothing',
  examples: ['sluice plugin new acme-notes --kind routes,table,console'],
  async run({ args: { name, dir = name, kind }, print }) {
    const files = scaffold(name, pathArgument('DIR', dir), kindsIn(kind)).map(file => join(dir, file))
    print.done(files.join('\n'), { files })
    print.note(`next: cd ${dir} && npm install && npm test`)
  }
})

function kindsIn(text: string = kinds[0] ?? ''): Kind[] {
  const words = [...new Set(text.split(',').map(word => word.trim()))]
  const unknown = words.find(word => !isKind(word))
  if (unknown !== undefined)
    throw new Fault(
      wrongUsage,
      `--kind has no ${unknown || 'empty kind'}; give one or more of ${kinds.join(', ')}`
    )
  return words.filter(isKind)
}

const check = defineCommand({
  name: 'plugin check',
  summary:
    'Check a plugin the way the server and the agent do: manifest, tables, routes, transactions, both halves, start and stop.',
  args: Type.Object({
    path: Type.String({ description: 'Folder of the plugin.' }),
    config: Type.Optional(
      Type.String({
        description: "TOML configuration with the plugin's settings and other plugins; default SVC_CONFIG."
      })
    )
  }),
  positional: ['path'],
  needs: 'nothing',
  async run({ args: { path, config }, env, print }) {
    const { checkConformance } = await import('../../kit/conformance.ts') // loads slowly, and only this command needs it
    const dir = resolve(path)
    const builtin = await loadBuiltinPlugins()
    const settings = await settingsFor(dir, builtin, config ?? env['SVC_CONFIG'])
    const { name, version, problems, notes } = await checkConformance(dir, builtin, settings)
    if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
    for (const note of notes) print.note(`note: ${note}`)
    print.done(`${name} ${version} conforms`, { name, version, notes })
  }
})

const trust = defineCommand({
  name: 'plugin trust',
  summary: 'Trust the current files of a plugin and its dependencies.',
  args: Type.Object({
    plugin: Type.String({ description: 'Path or npm package, as in the configuration.' }),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const { baseDir } = readSource(config ?? env['SVC_CONFIG'])
    print.data(
      await withPluginName(plugin, () => record(plugin, resolvePlugin(plugin, 'plugin', baseDir), baseDir))
    )
  }
})

export const commands = [list, reference, create, check, trust]

/** Adds the plugin's name to errors of the work, as a start does. */
async function withPluginName<T>(plugin: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault(pluginFailed, `plugin ${plugin}: ${cause instanceof Error ? cause.message : cause}`, {
      cause
    })
  }
}
