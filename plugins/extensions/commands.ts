import { join, resolve } from 'node:path'
import { Type } from 'typebox'
import { resolvePlugin } from '../../config/external/resolve.ts'
import { trust as record } from '../../config/external/trust.ts'
import { Fault, pluginFailed } from '../../kernel/base/errors.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { load, pick, settingsFor, sourceOf } from './catalogue.ts'
import { described, overview, whole } from './listing.ts'
import { scaffold } from './scaffold.ts'

const config = Type.Optional(
  Type.String({ description: 'TOML configuration of the server, or of the agent; default SVC_CONFIG.' })
)

const list = defineCommand({
  name: 'plugin list',
  summary: 'Show what is loaded, what it brings, and what it may do.',
  args: Type.Object({
    plugin: Type.Optional(Type.String({ description: 'One of them, with all that it has.' })),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const loaded = await load(config ?? env['SVC_CONFIG'])
    if (plugin !== undefined)
      return print.data(described(await naming(plugin, () => pick(loaded, plugin))), whole)
    const names = new Set([...loaded.servers, ...loaded.agents].map(({ name }) => name))
    const rows = [...names].sort().map(name => described({ ...loaded, name }))
    print.data(rows, overview, 'With a name it shows that one whole: sluice plugin list NAME')
  }
})

const reference = defineCommand({
  name: 'plugin reference',
  summary: 'Print the reference of a plugin, or of all that are loaded, as Markdown.',
  args: Type.Object({
    plugin: Type.Optional(
      Type.String({ description: 'Its name, as the configuration names it, or its folder; default: all.' })
    ),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const { referenceOf } = await import('./reference/page.ts') // all that makes tables and routes, for this one command
    const loaded = await load(config ?? env['SVC_CONFIG'])
    const page = await naming(plugin ?? 'reference', async () =>
      referenceOf(plugin === undefined ? loaded : await pick(loaded, plugin))
    )
    print.value('reference', page.trimEnd())
  }
})

const make = defineCommand({
  name: 'plugin new',
  summary: 'Write a plugin that passes its own tests, to begin with.',
  args: Type.Object({
    name: Type.String({ description: 'Like rate-limit.' }),
    dir: Type.Optional(Type.String({ description: 'Where; default: a folder of that name.' }))
  }),
  positional: ['name'],
  needs: 'nothing',
  async run({ args: { name, dir = name }, print }) {
    for (const file of scaffold(name, resolve(dir))) print.line(join(dir, file))
    print.line(`next: cd ${dir} && npm install && npm test`)
  }
})

const check = defineCommand({
  name: 'plugin check',
  summary: 'Judge a plugin as a server and an agent will: manifest, tables, halves, a boot and a stop.',
  args: Type.Object({
    path: Type.String({ description: 'Its folder.' }),
    config: Type.Optional(
      Type.String({ description: "TOML configuration with the plugin's settings; default SVC_CONFIG." })
    )
  }),
  positional: ['path'],
  needs: 'nothing',
  async run({ args: { path, config }, env, print }) {
    const { conform } = await import('../../kit/conformance.ts') // all that boots a server, for this one command
    const dir = resolve(path)
    const { name, version, problems } = await conform(dir, settingsFor(dir, config ?? env['SVC_CONFIG']))
    if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
    print.line(`${name} ${version} conforms`)
  }
})

const trust = defineCommand({
  name: 'plugin trust',
  summary: 'Let the files of a plugin run as they are now.',
  args: Type.Object({
    plugin: Type.String({ description: 'As the configuration names it: a path, or an npm package.' }),
    config
  }),
  positional: ['plugin'],
  needs: 'nothing',
  async run({ args: { plugin, config }, env, print }) {
    const { baseDir } = sourceOf(config ?? env['SVC_CONFIG'])
    print.data(await naming(plugin, () => record(plugin, resolvePlugin(plugin, 'plugin', baseDir), baseDir)))
  }
})

export const commands = [list, reference, make, check, trust]

/** What is wrong with a plugin is told as a start would tell it. */
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
