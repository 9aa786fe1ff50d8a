// A word of the command line is one command's, or a group's: of two that want it, both are named.
import { Fault, pluginFailed } from '../../kernel/base/errors.ts'
import type { Command } from '../../kernel/cli/command.ts'
import type { Plugin } from '../../kernel/plugin.ts'

/** `own`: commands that are no plugin's. Throws Fault with all that clash. */
export function refuseDuplicateCommands(plugins: readonly Plugin[], own: readonly Command[]): void {
  const claims = [{ name: 'sluice', commands: own }, ...plugins].flatMap(({ name: by, commands = [] }) =>
    commands.map(({ name }) => ({ name, words: `command ${name} of ${by}` }))
  )
  const problems = claims.flatMap((one, at) =>
    claims
      .slice(at + 1)
      .filter(other => clash(one.name, other.name))
      .map(other => `${one.words} and ${other.words} cannot both be: take one of the plugins out`)
  )
  if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
}

/** The same words, or a command where the other has a group. */
const clash = (one: string, other: string): boolean =>
  one === other || one === groupIn(other) || other === groupIn(one)

const groupIn = (name: string): string => name.split(' ', 1)[0] ?? ''
