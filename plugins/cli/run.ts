import { dirname, resolve } from 'node:path'
import { CommanderError } from 'commander'
import { Type } from 'typebox'
import { importExternal } from '../../config/external/import.ts'
import { type Builtin, loadPlugins, pluginSections } from '../../config/external/load.ts'
import { type ConfigFile, readConfigFile } from '../../config/sources.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { escapeControlChars, openLog } from '../../kernel/base/log.ts'
import { Releases } from '../../kernel/base/releases.ts'
import { ownVersion } from '../../kernel/base/version.ts'
import { kernelCodes } from '../../kernel/check.ts'
import type { Command, CommandCall } from '../../kernel/cli/command.ts'
import { inDependencyOrder } from '../../kernel/dependency-order.ts'
import { type ServerOptions, wire } from '../../kernel/kernel.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { type Filled, ownerOf, type Slot, slotReader } from '../../kernel/slot.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openApi, originIn } from './api.ts'
import { completion } from './completion.ts'
import { checkedKeys, dataDirOf, type GivenKeys, givenKeys, logOf } from './config.ts'
import { tokenFor } from './credential-file.ts'
import { refuseDuplicateCommands } from './duplicate-commands.ts'
import { checkFilesystem } from './filesystem.ts'
import { keepOwner } from './owner.ts'
import { openPrint } from './print.ts'
import { convertArgs, openProgram } from './program.ts'
import { handleSignals, serve } from './serve.ts'

interface Source {
  readonly plugins: Builtin<Plugin>
  readonly agentCommands: readonly Command[]
}
type Args = Readonly<Record<string, unknown>>

/** Runs the command line and returns the exit code. Results go to standard output, all else to standard error. */
export async function runCommandLine(argv: readonly string[], source: Source): Promise<number> {
  process.umask(0o077)
  unsetEmptyVariables()
  const version = ownVersion()
  const printError = (text: string): void => void process.stderr.write(`${text}\n`)
  try {
    // `agent` commands have a configuration of their own, and `plugin` commands must work while a plugin is broken. For
    // all others the file defines which plugins are loaded.
    const isWithoutPlugins = /^(agent|plugin)$/.test(groupIn(argv))
    const configFile = isWithoutPlugins ? null : (configIn(argv) ?? process.env['SVC_CONFIG'] ?? null)
    const file = configFile === null ? null : readConfigFile(configFile)
    const { plugins, sections } = await loadPlugins<Plugin>({
      half: 'plugin',
      builtin: source.plugins,
      table: file === null ? {} : pluginSections(file.table, file.placeOf),
      placeOf: file?.placeOf,
      baseDir: configFile === null ? process.cwd() : dirname(resolve(configFile)),
      importExternal
    })
    const known = [
      ...source.agentCommands,
      ...plugins.flatMap(({ commands }) => commands ?? []).map(command => withExtraArgs(command, plugins))
    ]
    const complete = completion(known)
    refuseDuplicateCommands(plugins, [...source.agentCommands, complete])
    const commands = [...known, complete]
    const context = { version, plugins, sections, file }
    const program = openProgram(version, commands, (command, args) => execute(command, args, context))
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage.exit
    if (!(error instanceof Fault)) throw error
    printError(`${error.errorCode.code}: ${escapeControlChars(error.message).replaceAll('\\u000a', '\n')}`)
    for (const [key, value] of Object.entries(error.details ?? {}))
      printError(`  ${key}: ${escapeControlChars(typeof value === 'string' ? value : JSON.stringify(value))}`)
    return error.errorCode.exit
  }
}

interface Context {
  readonly version: string
  readonly plugins: readonly Plugin[]
  readonly sections: ServerOptions['sections']
  readonly file: ConfigFile | null
}

async function execute(command: Command, given: Args, context: Context): Promise<void> {
  const { env } = process
  const codes = [...kernelCodes, ...context.plugins.flatMap(({ codes }) => codes ?? [])]
  const plainHttp = given['insecure_http'] === true ? 'allowed' : 'refused'
  const connect = (origin: string, token: string | undefined) => openApi({ origin, token, codes, plainHttp })
  const output = given['output']
  if (output !== 'table' && output !== 'json') throw new Fault(wrongUsage, '--output is table or json')
  const stop = new AbortController()
  const force = new AbortController()
  const acquired = new Releases() // by `open`; released when the command ends
  if (command.until === 'stopped') handleSignals(stop, force)

  const origin = originIn(given['server'], env)
  const keys = (): GivenKeys => givenKeys(context, given)
  const call: CommandCall<Args> = {
    args: convertArgs(command.args, given),
    api: connect(origin, command.needs === 'api' ? tokenFor(origin, env) : undefined),
    connect,
    keys: () => checkedKeys(context, keys()),
    dataDir: () => dataDirOf(keys().keys),
    filled: slot => filledBare(slot, context.plugins),
    stores: [kernelStore, ...context.plugins],
    async open(plugin) {
      const current = keys()
      const { depsOf, releases } = await wire(optionsOf(context, current, await openLog(logOf(current.keys))))
      acquired.defer(() => releases.run())
      return depsOf(plugin)
    },
    serve: ({ signal = stop.signal, defaults = {}, onLog }) => {
      const given = keys()
      const current = { ...given, keys: { ...defaults, ...given.keys } }
      return serve({
        options: log => optionsOf(context, current, log),
        log: logOf(current.keys),
        onLog,
        signal
      })
    },
    print: openPrint(
      output,
      text => void process.stdout.write(`${text}\n`),
      text => void process.stderr.write(`${text}\n`),
      process.stdout.isTTY ? process.stdout.columns : undefined
    ),
    input: process.stdin,
    env,
    signal: stop.signal,
    forceSignal: force.signal
  }
  const dir = command.needs === 'data' ? dataDirOf(keys().keys) : given['state_dir']
  const restoreOwner = typeof dir === 'string' ? keepOwner(dir) : () => {}
  try {
    await command.run(call)
  } finally {
    stop.abort()
    await acquired.run()
    restoreOwner()
  }
}

const optionsOf = (
  { plugins, sections, version }: Context,
  { keys, placeOf }: GivenKeys,
  log: ServerOptions['log']
): ServerOptions => {
  const dataDir = dataDirOf(keys)
  checkFilesystem(dataDir)
  return { plugins, sections, keys, placeOf, version, log, dataDir }
}

/** An empty variable is unset, for every reader: `SVC_TOKEN=` hides no other credential. */
function unsetEmptyVariables(): void {
  for (const [name, value] of Object.entries(process.env))
    if (name.startsWith('SVC_') && value === '') delete process.env[name]
}

/** Reads a slot as commands do: values of `fillWith` get services that fail at their first use. */
export const filledBare: <T>(slot: Slot<T>, plugins: readonly Plugin[]) => readonly Filled<T>[] = (
  slot,
  plugins
) =>
  slotReader(ownerOf(slot), inDependencyOrder(plugins), name => {
    return new Proxy({}, { get: (_, service) => absent(`${name} uses ${String(service)} in ${slot.id}`) })
  })(slot)

function absent(use: string): object {
  const fail = (): never => {
    throw new TypeError(
      `${use}, which a command reads without services: use it in a function that only the server calls`
    )
  }
  return new Proxy(fail, { get: fail })
}

export const withExtraArgs = (command: Command, plugins: readonly Plugin[]): Command => {
  const more = command.extraArgs?.(slot => filledBare(slot, plugins))
  return more ? { ...command, args: Type.Object({ ...command.args.properties, ...more }) } : command
}

/** Returns the last --config, as commander does for every option. */
function configIn(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex(word => /^--config(=|$)/.test(word))
  return at < 0 ? undefined : argv[at] === '--config' ? argv[at + 1] : argv[at]?.slice('--config='.length)
}

/** Returns the first word of the command's name; only --config may stand before it. */
const groupIn = (argv: readonly string[]): string =>
  argv.find((word, at) => !word.startsWith('-') && argv[at - 1] !== '--config') ?? ''
