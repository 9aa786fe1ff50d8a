import { join, resolve } from 'node:path'
import { Type } from 'typebox'
import { find } from '../../config/load.ts'
import { trust as record } from '../../config/trust.ts'
import { Fault, pluginFailed } from '../../kernel/base/errors.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { catalogue, sourceOf } from './catalogue.ts'
import type { Described } from './described.ts'
import { scaffold } from './scaffold.ts'

const config = Type.Optional(
  Type.String({ description: 'TOML configuration of the server, or of the agent; default SVC_CONFIG.' })
)

const list = defineCommand({
  name: 'plugin list',
  summary: 'Show what is loaded, what it brings, and what it may do.',
  args: Type.Object({ config }),
  needs: 'nothing',
  async run({ args, env, print }) {
    const count = (of: (plugin: Described) => readonly string[]) => (plugin: Described) =>
      String(of(plugin).length)
    print.data(await catalogue(args.config ?? env['SVC_CONFIG']), [
      'name',
      'version',
      'from',
      ['needs', ({ needs }) => needs.join(' ')],
      ['routes', count(({ routes }) => routes)],
      ['tables', count(({ tables }) => tables)],
      ['capabilities', ({ capabilities }) => Object.keys(capabilities).join(' ')],
      ['may', ({ may }) => may.join(', ')]
    ])
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
  args: Type.Object({ path: Type.String({ description: 'Its folder.' }) }),
  positional: ['path'],
  needs: 'nothing',
  async run({ args, print }) {
    const { conform } = await import('../../test/kit/conformance.ts') // all that boots a server, for this one command
    const { name, version, problems } = await conform(resolve(args.path))
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
    try {
      print.data(record(plugin, find(plugin, 'plugin', baseDir), baseDir))
    } catch (cause) {
      throw new Fault(pluginFailed, `plugin ${plugin}: ${cause instanceof Error ? cause.message : cause}`, {
        cause
      })
    }
  }
})

export const commands = [list, make, check, trust]
