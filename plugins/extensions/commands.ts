import { join, resolve } from 'node:path'
import { Fault, pluginFailed } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { loadBuiltinPlugins } from '../../kernel/platform/plugins/builtin-plugins.ts'
import { trust as record } from '../../kernel/platform/plugins/plugin-lock.ts'
import { resolvePlugin } from '../../kernel/platform/plugins/resolve-plugin.ts'
import { load, pick, settingsFor, sourceOf } from './catalogue.ts'
import { describe } from './described.ts'
import { details, overview } from './listing.ts'
import { kinds, scaffold } from './scaffold.ts'

const config = Type.Optional(
  Type.String({ description: 'TOML configuration of the server, or of the agent; default SVC_CONFIG.' })
)

const list = defineCommand({
  name: 'plugin list',
  summary: 'List the loaded plugins, what they add, and what they may do.',
  args: Type.Object({
    plugin: Type.Optional(Type.String({ description: 'Show only this plugin, in full.' })),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const loaded = await load(await loadBuiltinPlugins(), config ?? env['SVC_CONFIG'])
    if (plugin !== undefined) {
      const picked = await naming(plugin, () => pick(loaded, plugin))
      return print.data(describe(picked, picked.name), details)
    }
    const names = new Set([...loaded.servers, ...loaded.agents].map(({ name }) => name))
    const rows = [...names].sort().map(name => describe(loaded, name))
    print.data(rows, overview, 'Show one plugin in full: sluice plugin list NAME')
  }
})

const reference = defineCommand({
  name: 'plugin reference',
  summary: 'Print the reference of one or all loaded plugins as Markdown.',
  args: Type.Object({
    plugin: Type.Optional(
      Type.String({
        description: 'Name of the plugin, as in the configuration, or its folder; default: all.'
      })
    ),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const { referenceOf } = await import('./reference/page.ts') // a large module that only this command needs
    const loaded = await load(await loadBuiltinPlugins(), config ?? env['SVC_CONFIG'])
    const page = await naming(plugin ?? 'reference', async () =>
      referenceOf(plugin === undefined ? loaded : await pick(loaded, plugin))
    )
    print.value('reference', page.trimEnd())
  }
})

const create = defineCommand({
  name: 'plugin new',
  summary: 'Create a plugin with tests that pass, as a start for your own.',
  args: Type.Object({
    name: Type.String({ description: 'Name of the plugin, like rate-limit.' }),
    dir: Type.Optional(Type.String({ description: 'Folder; default: the name.' })),
    kind: Type.Optional(
      Type.Union(
        kinds.map(kind => Type.Literal(kind)),
        {
          description: `What it is to add, for which the files are made: ${kinds.join(', ')}; default: ${kinds[0]}.`
        }
      )
    )
  }),
  positional: ['name'],
  needs: 'nothing',
  async run({ args: { name, dir = name, kind }, print }) {
    for (const file of scaffold(name, resolve(dir), kind)) print.line(join(dir, file))
    print.line(`next: cd ${dir} && npm install && npm test`)
  }
})

const check = defineCommand({
  name: 'plugin check',
  summary:
    'Check a plugin as server and agent do: manifest, tables, routes, changes, both halves, start and stop.',
  args: Type.Object({
    path: Type.String({ description: 'Folder of the plugin.' }),
    config: Type.Optional(
      Type.String({
        description:
          "TOML configuration with the plugin's settings and the plugins beside it; default SVC_CONFIG."
      })
    )
  }),
  positional: ['path'],
  needs: 'nothing',
  async run({ args: { path, config }, env, print }) {
    const { checkConformance } = await import('../../kit/conformance.ts') // a large module that only this command needs
    const dir = resolve(path)
    const builtin = await loadBuiltinPlugins()
    const settings = await settingsFor(dir, builtin, config ?? env['SVC_CONFIG'])
    const { name, version, problems, notes } = await checkConformance(dir, builtin, settings)
    if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
    for (const note of notes) print.line(`note: ${note}`)
    print.line(`${name} ${version} conforms`)
  }
})

const trust = defineCommand({
  name: 'plugin trust',
  summary: 'Trust the present files of a plugin.',
  args: Type.Object({
    plugin: Type.String({ description: 'Path or npm package, as in the configuration.' }),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const { baseDir } = sourceOf(config ?? env['SVC_CONFIG'])
    print.data(await naming(plugin, () => record(plugin, resolvePlugin(plugin, 'plugin', baseDir), baseDir)))
  }
})

export const commands = [list, reference, create, check, trust]

/** Names the plugin in its errors, as a start does. */
async function naming<T>(plugin: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault(pluginFailed, `plugin ${plugin}: ${cause instanceof Error ? cause.message : cause}`, {
      cause
    })
  }
}
