import { Command as Program } from 'commander'
import { type TObject, type TSchema, Type } from 'typebox'
import { Errors } from 'typebox/value'
import { exactValue } from '../../kernel/base/config.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { Command } from '../../kernel/cli/command.ts'

type Args = Readonly<Record<string, unknown>>

type Option = readonly [flags: string, help: string, fallback?: string]

/** Allowed before and after every command, since the file also defines which plugins and commands are loaded. */
export const configOption: Option = [
  '--config <file>',
  'TOML configuration of the server; default SVC_CONFIG'
]

const needsOptions: Readonly<Record<Command['needs'], readonly Option[]>> = {
  api: [
    ['--server <origin>', 'origin of the operator API; default SVC_SERVER, else http://127.0.0.1:7080'],
    ['--insecure-http', 'send the token over plain http to another host']
  ],
  data: [['--data-dir <dir>', 'data directory of the server']],
  server: [['--data-dir <dir>', 'directory of the store and the keys']],
  nothing: []
}

/** Returns the options that a command has besides its own. */
const addedTo = ({ args, needs }: Command): readonly Option[] => [
  ...('config' in args.properties ? [] : [configOption]),
  ...needsOptions[needs],
  ['--output <format>', 'table or json', 'table']
]

/** Builds the commander program: a group for commands with the same first word, help, arguments and options. */
export function openProgram(
  version: string,
  commands: readonly Command[],
  run: (command: Command, args: Args) => Promise<void>
): Program {
  const program = new Program('sluice')
    .description('Self-hosted TCP and UDP port forwarding for fleets.')
    .version(version)
    .option(...configOption)
    .exitOverride()
    .showHelpAfterError('see --help')
  const groups = new Map<string, Program>()
  const groupOf = (name: string): Program => {
    const group = groups.get(name) ?? program.command(name).description(`${name} commands`).exitOverride()
    groups.set(name, group)
    return group
  }

  for (const command of commands.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const [first = '', second] = command.name.split(' ')
    const parent = second === undefined ? program : groupOf(first)
    const sub = parent
      .command(second ?? first)
      .description(command.summary)
      .exitOverride()
    describe(sub, command)
    sub.action(async (...given: unknown[]) => {
      const options = sub.optsWithGlobals()
      const bare = Object.fromEntries((command.positional ?? []).map((name, at) => [name, given[at]]))
      await run(command, { ...snake(options), ...bare })
    })
  }
  return program
}

function describe(sub: Program, command: Command): void {
  const { args, positional = [] } = command
  for (const name of positional) {
    const schema = args.properties[name] ?? Type.Unknown()
    const dots = Type.IsArray(schema) ? '...' : ''
    const word = `${name.toUpperCase()}${dots}`
    sub.argument(Type.IsOptional(schema) ? `[${word}]` : `<${word}>`, descriptionOf(schema))
  }
  for (const [name, schema] of Object.entries(args.properties)) {
    if (positional.includes(name)) continue
    const flag = flagOf(name)
    const value = Type.IsBoolean(schema) ? '' : Type.IsArray(schema) ? ' <value...>' : ' <value>'
    if (Type.IsOptional(schema)) sub.option(`${flag}${value}`, descriptionOf(schema))
    else sub.requiredOption(`${flag}${value}`, descriptionOf(schema))
  }
  for (const [flag, help, fallback] of addedTo(command)) sub.option(flag, help, fallback)
}

/** Returns the flags of a command in the order of its help: '--ack-timeout-secs'. */
export const optionsOf = (command: Command): string[] => [
  ...Object.keys(command.args.properties)
    .filter(name => !command.positional?.includes(name))
    .map(flagOf),
  ...addedTo(command).map(([flag]) => flag.split(' ', 1)[0] ?? flag)
]

const flagOf = (name: string): string => `--${name.replaceAll('_', '-')}`

const descriptionOf = (schema: TSchema): string => ('description' in schema ? String(schema.description) : '')

const snake = (options: Args): Args =>
  Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key.replaceAll(/[A-Z]/g, char => `_${char.toLowerCase()}`),
      value
    ])
  )

/** Converts and checks the arguments by the command's schema; leaves out options that are not its own. */
export function convertArgs(args: TObject, given: Args): Args {
  const own = Object.fromEntries(
    Object.keys(args.properties)
      .filter(key => given[key] !== undefined)
      .map(key => [key, convert(args.properties[key], given[key])])
  )
  const errors = Errors(args, own)
  const [error] = errors
  if (!error) return own
  const name = error.instancePath.slice(1).toUpperCase() || 'arguments'
  const choice = errors
    .filter(({ instancePath }) => instancePath === error.instancePath)
    .flatMap(({ params }) => ('allowedValue' in params ? [String(params.allowedValue)] : []))
  const wording = choice.length > 0 ? `must be one of ${choice.join(', ')}` : error.message
  throw new Fault(wrongUsage, `${name} ${wording}`)
}

const convert = (schema: TSchema | undefined, given: unknown): unknown => {
  if (Array.isArray(given))
    return given.map(item => convert(Type.IsArray(schema) ? schema.items : undefined, item))
  return typeof given === 'string' ? exactValue(schema, given) : given
}
