// Writes config/command-index.json: the summary and arguments of each built-in command, so that a start loads only the
// chosen one. Run it after changing commands, their arguments, or error codes: npm run index
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inDependencyOrder } from '../../kernel/dependency-order.ts'
import { kernelCodes } from '../../kernel/plugin-problems.ts'
import type { Fill, Slot } from '../../kernel/slot.ts'
import { type CommandIndex, filledBare, withExtraArgs } from '../../plugins/cli/program/installed-commands.ts'
import { commandModules } from '../commands.ts'
import { plugins as builtin } from '../plugins.ts'

export async function commandIndex(): Promise<CommandIndex> {
  const loaded = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  const plugins = inDependencyOrder(loaded)
  const modules = new Map(
    await Promise.all(Object.entries(commandModules).map(async ([by, load]) => [by, await load()] as const))
  )
  /** Returns the plugins that fill the slots, or null if one fills them only in its manifest. */
  const readersOf = (slots: readonly Slot<never>[]): string[] | null => {
    const countIn = (fills: readonly Fill[] = []): number =>
      fills.filter(({ slot }) => slots.includes(slot)).length
    const fillers = plugins.filter(({ fills }) => countIn(fills) > 0)
    const isLight = fillers.every(({ name, fills }) => countIn(modules.get(name)?.fills) === countIn(fills))
    return isLight ? fillers.map(({ name }) => name) : null
  }
  const commands = [...modules].flatMap(([by, { commands = [] }]) =>
    commands.map(command => {
      const { name, aliases, summary, examples, args, positional, needs } = withExtraArgs(command, slot =>
        filledBare(slot, plugins)
      )
      const isExtended = command.extraArgs !== undefined
      const described = {
        name,
        ...(aliases && { aliases }),
        summary,
        ...(examples && { examples }),
        args,
        ...(positional && { positional }),
        needs
      }
      return { ...described, by, ...(command.reads && { reads: readersOf(command.reads) }), isExtended }
    })
  )
  const codes = [...kernelCodes, ...plugins.flatMap(({ codes }) => codes ?? [])]
  return {
    plugins: Object.keys(builtin),
    commands: commands.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    exits: Object.fromEntries(codes.map(({ code, exit }) => [code, exit] as const).sort())
  }
}

export const indexFile = join(import.meta.dirname, '..', 'command-index.json')

/** Writes one command per line, for readable diffs. */
function textOf({ commands, ...rest }: CommandIndex): string {
  const lines = commands.map(command => JSON.stringify(command)).join(',\n')
  return `${JSON.stringify({ commands: [], ...rest }).replace('[]', () => `[\n${lines}\n]`)}\n`
}

if (import.meta.main) writeFileSync(indexFile, textOf(await commandIndex()))
