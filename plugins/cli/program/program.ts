import { type OutputConfiguration, Command as Program } from 'commander'
import type { TObject, TSchema } from 'typebox'
import type { Command } from '../../../kernel/cli/command.ts'
import { quantityHelp, type Unit } from '../../http/command-exports.ts'
import { choicesIn, type Schema } from './convert-args.ts'
import { compareCommands, isHidden, lastSection, sectionOf } from './help-sections.ts'
import type { Described } from './installed-commands.ts'

type Args = Readonly<Record<string, unknown>>

type Option = readonly [flags: string, help: string, fallback?: string]

/** Allowed before and after every command, because the file also defines which plugins and commands are loaded. */
const configOption: Option = ['--config <file>', 'TOML configuration of the server; default SVC_CONFIG.']

const needsOptions: Readonly<Record<Command['needs'], readonly Option[]>> = {
  api: [
    ['--server <origin>', 'Address of the operator API; default SVC_SERVER, else http://127.0.0.1:7080.'],
    [
      '--cacert <file>',
      'PEM file with the authorities to trust; default SVC_CACERT, else those of the login.'
    ],
    ['--insecure-http', 'Send the token over plain HTTP to another host.']
  ],
  data: [['--data-dir <dir>', 'Data directory of the server.']],
  server: [['--data-dir <dir>', 'Directory for the store and the keys.']],
  nothing: []
}

/** Returns the options that every command with these `needs` has. */
const addedTo = ({ args, needs }: Described): readonly Option[] => [
  ...('config' in args.properties ? [] : [configOption]),
  ...needsOptions[needs],
  ['--bytes', 'Print bytes and bits in full, without units.'],
  ['--output <format>', 'table or json', 'table']
]

/** Builds the commander program. Commands with the same first words form a group. */
export function openProgram<C extends Described>(
  version: string,
  commands: readonly C[],
  run: (command: C, args: Args) => Promise<void>,
  streams: OutputConfiguration = {}
): Program {
  const program = new Program('sluice')
    .description('Self-hosted TCP and UDP port forwarding for fleets.')
    .version(version)
    .option(...configOption)
    .exitOverride()
    .configureOutput(streams)
    .showHelpAfterError('see --help')
    .commandsGroup(lastSection)
    .helpCommand(true)
  const groups = new Map<string, Program>()
  /** Returns the next words of a group, as its description: 'list, show'. */
  const verbsOf = (group: string): string => {
    const verbs = commands.flatMap(({ name }) =>
      name.startsWith(`${group} `) ? (name.slice(group.length + 1).split(' ', 1)[0] ?? []) : []
    )
    return [...new Set(verbs)].sort().join(', ')
  }
  const groupOf = (words: readonly string[]): Program => {
    const name = words.join(' ')
    const present = words.length === 0 ? program : groups.get(name)
    if (present) return present
    const word = words.at(-1) ?? ''
    const parent = groupOf(words.slice(0, -1))
    const group = addTo(parent, word).description(verbsOf(name))
    groups.set(name, group)
    return group
  }
  const addTo = (parent: Program, word: string, isAlias = false): Program => {
    const sub = parent.command(word, { hidden: isAlias || isHidden(word) }).exitOverride()
    return parent === program ? sub.helpGroup(sectionOf(word)) : sub
  }

  for (const command of commands.toSorted((a, b) => compareCommands(a.name, b.name))) {
    const words = command.name.split(' ')
    const parent = groupOf(words.slice(0, -1))
    const add = (word: string, isAlias?: boolean): void => {
      const sub = addTo(parent, word, isAlias).description(command.summary)
      describe(sub, command)
      sub.action(async (...given: unknown[]) => {
        const options = sub.optsWithGlobals()
        const bare = Object.fromEntries((command.positional ?? []).map((name, at) => [name, given[at]]))
        await run(command, { ...snake(options), ...bare })
      })
    }
    add(words.at(-1) ?? '')
    for (const alias of command.aliases ?? []) add(alias, true)
  }
  return program
}

function describe(sub: Program, command: Described): void {
  const { args, positional = [], examples = [] } = command
  for (const name of positional) {
    const schema = args.properties[name] ?? {}
    const dots = typeOf(schema) === 'array' ? '...' : ''
    const word = `${name.toUpperCase()}${dots}`
    sub.argument(isRequired(args, name) ? `<${word}>` : `[${word}]`, descriptionOf(schema))
  }
  for (const [name, schema] of Object.entries(args.properties)) {
    if (positional.includes(name)) continue
    const { short } = schema as { short?: string } // our schema keyword
    const flag = `${short === undefined ? '' : `-${short}, `}${flagOf(name)}`
    const value = valuePlaceholder(schema)
    if (isRequired(args, name)) sub.requiredOption(`${flag}${value}`, descriptionOf(schema))
    else sub.option(`${flag}${value}`, descriptionOf(schema))
  }
  for (const [flag, help, fallback] of addedTo(command)) sub.option(flag, help, fallback)
  if (examples.length > 0)
    sub.addHelpText('after', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

/** Returns how an option takes its value. A union of boolean and string is true without one. */
function valuePlaceholder(schema: TSchema): string {
  const type = typeOf(schema)
  if (type === 'boolean') return ''
  if (type === 'array') return ' <value...>'
  const { anyOf = [] } = schema as { readonly anyOf?: readonly Schema[] }
  return anyOf.some(branch => branch.type === 'boolean') ? ' [value]' : ' <value>'
}

/** Returns the flags of a command in the order of its help. */
export const optionsOf = (command: Described): string[] => [
  ...Object.keys(command.args.properties)
    .filter(name => !command.positional?.includes(name))
    .map(flagOf),
  ...addedTo(command).map(([flag]) => flag.split(' ', 1)[0] ?? flag)
]

export const flagOf = (name: string): string => `--${name.replaceAll('_', '-')}`

interface Worded {
  readonly description?: string
  readonly unit?: Unit
  readonly items?: Schema
}

function descriptionOf(schema: TSchema): string {
  const { description = '', unit, items } = schema as Worded // our schema keywords
  const choices = choicesIn(items ?? {})
  const values = choices.length > 0 ? ` Values: ${choices.join(', ')}.` : ''
  return `${description}${values}${unit === undefined ? '' : ` Units: ${quantityHelp(unit)}.`}`
}

const snake = (options: Args): Args =>
  Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key.replaceAll(/[A-Z]/g, char => `_${char.toLowerCase()}`),
      value
    ])
  )

export const typeOf = (schema: TSchema): unknown => Reflect.get(schema, 'type')

const isRequired = ({ required }: TObject, name: string): boolean =>
  Array.isArray(required) && required.includes(name)
