import { Fault, pluginFailed } from '../../../kernel/base/errors.ts'
import type { Command } from '../../../kernel/cli/command.ts'
import type { Plugin } from '../../../kernel/plugin.ts'

/** Throws a Fault that lists commands named like another command or a group. `own`: the commands that belong to no plugin. */
export function refuseDuplicateCommands(plugins: readonly Plugin[], own: readonly Command[]): void {
  const claims = [{ name: 'sluice', commands: own }, ...plugins].flatMap(({ name: by, commands = [] }) =>
    commands.flatMap(({ name, aliases = [] }) =>
      [name, ...aliases.map(alias => `${groupIn(name)} ${alias}`)].map(name => ({
        name,
        label: `command ${name} of ${by}`
      }))
    )
  )
  const problems = claims.flatMap((one, at) =>
    claims
      .slice(at + 1)
      .filter(other => clash(one.name, other.name))
      .map(other => `${one.label} and ${other.label} conflict: disable one of the plugins`)
  )
  if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
}

const clash = (one: string, other: string): boolean =>
  one === other || one === groupIn(other) || other === groupIn(one)

const groupIn = (name: string): string => name.split(' ', 1)[0] ?? ''
