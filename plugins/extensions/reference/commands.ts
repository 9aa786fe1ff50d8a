import { type TSchema, Type } from 'typebox'
import type { Command } from '../../../kernel/cli/command.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { fieldOf, type Schema } from './fields.ts'
import { type Chapter, code, fieldsTable } from './markdown.ts'
import type { Preview } from './preview.ts'

/** Returns a chapter for each command, with the options that other plugins add. */
export const commandsOf = ({ commands = [] }: Plugin, { filled }: Preview): Chapter[] =>
  commands.map(command =>
    commandChapter(
      command,
      { ...command.args.properties, ...command.extraArgs?.(filled) },
      usesText[command.needs]
    )
  )

type Named = Pick<Command, 'name' | 'summary' | 'positional'>

/** `uses`: a sentence with a leading space, or ''. */
export function commandChapter(
  { name, summary, positional = [] }: Named,
  args: Readonly<Record<string, TSchema>>,
  uses: string
): Chapter {
  const inOrder = [...positional, ...Object.keys(args).filter(name => !positional.includes(name))]
  const rows = inOrder.map(name => {
    const part = args[name] ?? Type.Unknown()
    const path = positional.includes(name) ? placeholderOf(name, part) : `--${name.replaceAll('_', '-')}`
    return fieldOf({ path, part: part as Schema, isRequired: !Type.IsOptional(part) })
  })
  const words = positional.map(name => usageOf(name, args[name] ?? Type.Unknown()))
  return {
    title: code(['sluice', name, ...words].join(' ')),
    text: [`${summary}${uses}`, fieldsTable(rows, 'Argument')].filter(text => text !== '').join('\n\n')
  }
}

const placeholderOf = (name: string, schema: TSchema): string =>
  `${name.toUpperCase()}${Type.IsArray(schema) ? '...' : ''}`

const usageOf = (name: string, schema: TSchema): string =>
  Type.IsOptional(schema) ? `[${placeholderOf(name, schema)}]` : placeholderOf(name, schema)

const usesText: Readonly<Record<Command['needs'], string>> = {
  api: ' Uses the API: `--server ORIGIN`, `--insecure-http`.',
  data: ' Uses the data directory: `--data-dir DIR`.',
  server: ' Runs a server: `--data-dir DIR`.',
  nothing: ''
}
