import { Command as Program } from 'commander'
import type { TObject, TSchema } from 'typebox'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { Command } from '../../kernel/cli/command.ts'
import { exactValue } from '../../kernel/platform/exact-value.ts'
import { parseQuantity, quantityHelp } from '../../kernel/platform/quantity.ts'
import type { Described } from './installed.ts'

type Args = Readonly<Record<string, unknown>>

type Option = readonly [flags: string, help: string, fallback?: string]

/** Allowed before and after every command, since the file also defines which plugins and commands are loaded. */
const configOption: Option = ['--config <file>', 'TOML configuration of the server; default SVC_CONFIG']

const needsOptions: Readonly<Record<Command['needs'], readonly Option[]>> = {
  api: [
    ['--server <origin>', 'origin of the operator API; default SVC_SERVER, else http://127.0.0.1:7080'],
    ['--cacert <file>', 'PEM file of the authorities to trust; default SVC_CACERT, else those of the login'],
    ['--insecure-http', 'send the token over plain http to another host']
  ],
  data: [['--data-dir <dir>', 'data directory of the server']],
  server: [['--data-dir <dir>', 'directory of the store and the keys']],
  nothing: []
}

/** Returns the options that a command has besides its own. */
const addedTo = ({ args, needs }: Described): readonly Option[] => [
  ...('config' in args.properties ? [] : [configOption]),
  ...needsOptions[needs],
  ['--output <format>', 'table or json', 'table']
]

/** Builds the commander program: a group for commands with the same first word, help, arguments and options. */
export function openProgram<C extends Described>(
  version: string,
  commands: readonly C[],
  run: (command: C, args: Args) => Promise<void>,
  writeErr = (text: string): void => void process.stderr.write(text)
): Program {
  const program = new Program('sluice')
    .description('Self-hosted TCP and UDP port forwarding for fleets.')
    .version(version)
    .option(...configOption)
    .exitOverride()
    .configureOutput({ writeErr })
    .showHelpAfterError('see --help')
  const groups = new Map<string, Program>()
  /** Returns the second words of a group, which say what can be done there: 'list, show'. */
  const verbsOf = (group: string): string =>
    commands
      .flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []))
      .sort()
      .join(', ')
  const groupOf = (name: string): Program => {
    const group = groups.get(name) ?? program.command(name).description(verbsOf(name)).exitOverride()
    groups.set(name, group)
    return group
  }

  for (const command of commands.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const [first = '', second] = command.name.split(' ')
    const parent = second === undefined ? program : groupOf(first)
    const add = (word: string, options: { readonly hidden: boolean }): void => {
      const sub = parent.command(word, options).description(command.summary).exitOverride()
      describe(sub, command)
      sub.action(async (...given: unknown[]) => {
        const options = sub.optsWithGlobals()
        const bare = Object.fromEntries((command.positional ?? []).map((name, at) => [name, given[at]]))
        await run(command, { ...snake(options), ...bare })
      })
    }
    add(second ?? first, { hidden: false })
    for (const alias of command.aliases ?? []) add(alias, { hidden: true })
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
    const { short } = schema as { short?: string } // of ours
    const flag = `${short === undefined ? '' : `-${short}, `}${flagOf(name)}`
    const type = typeOf(schema)
    const value = type === 'boolean' ? '' : type === 'array' ? ' <value...>' : ' <value>'
    if (isRequired(args, name)) sub.requiredOption(`${flag}${value}`, descriptionOf(schema))
    else sub.option(`${flag}${value}`, descriptionOf(schema))
  }
  for (const [flag, help, fallback] of addedTo(command)) sub.option(flag, help, fallback)
  if (examples.length > 0)
    sub.addHelpText('after', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

/** Returns the flags of a command in the order of its help: '--ack-timeout-secs'. */
export const optionsOf = (command: Described): string[] => [
  ...Object.keys(command.args.properties)
    .filter(name => !command.positional?.includes(name))
    .map(flagOf),
  ...addedTo(command).map(([flag]) => flag.split(' ', 1)[0] ?? flag)
]

export const flagOf = (name: string): string => `--${name.replaceAll('_', '-')}`

function descriptionOf(schema: TSchema): string {
  const { description = '', takesUnits = false } = schema as { description?: string; takesUnits?: boolean } // of ours
  return takesUnits ? `${description} ${quantityHelp}` : description
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

/** Converts and checks the arguments by the command's schema; leaves out options that are not its own. */
export function convertArgs(args: TObject, given: Args): Args {
  const own = Object.fromEntries(
    Object.keys(args.properties)
      .filter(key => given[key] !== undefined)
      .map(key => [key, convert(args.properties[key], given[key])])
  )
  for (const [key, value] of Object.entries(own)) {
    const problem = problemOf(args.properties[key] ?? {}, value)
    if (problem !== null) throw new Fault(wrongUsage, `${key.toUpperCase()} ${problem}`)
  }
  return own
}

const convert = (schema: Schema | undefined, given: unknown): unknown => {
  if (Array.isArray(given)) return given.map(item => convert(schema?.items, item))
  if (typeof given !== 'string') return given
  return (schema?.takesUnits && parseQuantity(given)) || exactValue(schema, given)
}

/** The JSON Schema keywords that validate arguments. */
interface Schema {
  readonly type?: string
  readonly takesUnits?: boolean // '500M'
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
}

/** Returns why a value is refused: 'must be >= 1'; null: it is not. */
function problemOf(schema: Schema, value: unknown): string | null {
  const choices =
    schema.enum ?? (schema.anyOf ?? [schema]).flatMap(branch => ('const' in branch ? [branch.const] : []))
  if (choices.length > 0) return choices.includes(value) ? null : `must be one of ${choices.join(', ')}`
  if (schema.anyOf) {
    const problems = schema.anyOf.map(branch => problemOf(branch, value))
    return problems.includes(null) ? null : (problems[0] ?? null)
  }
  if (schema.type !== undefined && !isOfType(schema.type, value))
    return `must be ${/^[aeio]/.test(schema.type) ? 'an' : 'a'} ${schema.type}${schema.takesUnits ? `, also with a unit: ${quantityHelp}` : ''}`
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items = {} } = schema
    if (value.length < minItems) return `must not have fewer than ${minItems} items`
    if (value.length > maxItems) return `must not have more than ${maxItems} items`
    return value.map(item => problemOf(items, item)).find(problem => problem !== null) ?? null
  }
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  if (typeof value === 'number' && value < minimum) return `must be >= ${minimum}`
  return typeof value === 'number' && value > maximum ? `must be <= ${maximum}` : null
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value)
  return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type
}
