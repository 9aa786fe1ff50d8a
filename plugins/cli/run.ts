import { dirname, resolve } from 'node:path'
import { CommanderError } from 'commander'
import { type TObject, Type } from 'typebox'
import { parseFile, readConfig, refuseReadable } from '../../kernel/base/config.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { openLog, visible } from '../../kernel/base/log.ts'
import { ownVersion } from '../../kernel/base/version.ts'
import { kernelCodes } from '../../kernel/check.ts'
import type { Command, CommandCall } from '../../kernel/cli/command.ts'
import { boot, type Options, wire } from '../../kernel/kernel.ts'
import { type Builtin, loadPlugins } from '../../kernel/load.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { serverKeys } from '../../kernel/settings.ts'
import { defaultDataDir } from '../../kernel/store/data-dir.ts'
import { openApi } from './api.ts'
import { openPrint } from './print.ts'
import { openProgram, typed } from './program.ts'

interface Source {
  readonly plugins: Builtin<Plugin>
  readonly agentCommands: readonly Command[]
}
type Args = Readonly<Record<string, unknown>>

/** The command line: answers the exit code. Results on standard output, everything else on standard error. */
export async function runCommandLine(argv: readonly string[], source: Source): Promise<number> {
  process.umask(0o077)
  const version = ownVersion()
  const aside = (text: string): void => void process.stderr.write(`${text}\n`)
  try {
    // The agent's configuration is its own; for all else the file says which plugins bring commands.
    const configFile =
      argv[0] === 'agent' ? null : (flagOf(argv, '--config') ?? process.env['SVC_CONFIG'] ?? null)
    const { plugins, sections } = await loadPlugins<Plugin>({
      half: 'plugin',
      builtin: source.plugins,
      table: configFile === null ? {} : tableOf(parseFile(configFile)['plugins']),
      baseDir: configFile === null ? process.cwd() : dirname(resolve(configFile))
    })
    const commands = [...source.agentCommands, ...plugins.flatMap(({ commands }) => commands ?? [])]
    const context = { version, plugins, sections, configFile }
    const program = openProgram(version, commands, (command, args) => execute(command, args, context))
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage.exit
    if (!(error instanceof Fault)) throw error
    aside(`${error.row.code}: ${visible(error.message).replaceAll('\\u000a', '\n')}`)
    for (const [key, value] of Object.entries(error.details ?? {}))
      aside(`  ${key}: ${visible(typeof value === 'string' ? value : JSON.stringify(value))}`)
    return error.row.exit
  }
}

interface Context {
  readonly version: string
  readonly plugins: readonly Plugin[]
  readonly sections: Options['sections']
  readonly configFile: string | null
}

async function execute(command: Command, given: Args, context: Context): Promise<void> {
  const { env } = process
  const codes = [...kernelCodes, ...context.plugins.flatMap(({ codes }) => codes ?? [])]
  const plainHttp = given['insecure_http'] === true ? 'allowed' : 'refused'
  const connect = (origin: string, token: string | undefined) => openApi({ origin, token, codes, plainHttp })
  const output = given['output']
  if (output !== 'table' && output !== 'json') throw new Fault(wrongUsage, '--output is table or json')
  const stop = new AbortController()
  const cut = new AbortController()
  if (command.until === 'stopped') heedSignals(stop, cut)

  const keys = (): Args => serverConfig(context, given)
  const call: CommandCall<Args> = {
    args: typed(command.args, given),
    api: connect(
      String(given['server'] ?? env['SVC_SERVER'] ?? 'http://127.0.0.1:7080'),
      env['SVC_TOKEN'] ?? env['SVC_OPERATOR_TOKEN']
    ),
    connect,
    dataDir: () => dataDirOf(keys()),
    async open(plugin) {
      const settled = keys()
      const { depsOf, releases } = await wire(optionsOf(context, settled, await openLog(logOf(settled))))
      stop.signal.addEventListener('abort', () => void releases.run(), { once: true })
      return depsOf(plugin)
    },
    async serve({ keys: set = {}, watch, signal = stop.signal }) {
      const settled = { ...keys(), ...set }
      const log = await openLog(logOf(settled), watch)
      const failed = Promise.withResolvers<void>()
      const broken = (error: Error): void => {
        log.error('store.broken', `the disk failed a commit, the server stops: ${error.message}`)
        failed.reject(error)
      }
      const server = await boot({ ...optionsOf(context, settled, log), broken })
      signal.addEventListener('abort', () => failed.resolve(), { once: true })
      if (signal.aborted) failed.resolve()
      const done = failed.promise.finally(async () => {
        await server.stop()
        log.info('server.stopped', 'stopped; agents go on with what they have')
      })
      done.catch(() => {}) // whoever awaits it later still sees it
      return { origin: server.origin, done }
    },
    print: openPrint(
      output,
      text => void process.stdout.write(`${text}\n`),
      text => void process.stderr.write(`${text}\n`)
    ),
    input: process.stdin,
    env,
    signal: stop.signal,
    cut: cut.signal
  }
  try {
    await command.run(call)
  } finally {
    stop.abort() // what `open` acquired goes with the command
  }
}

/** The first signal asks, the second cuts; a terminal that closes is no reason to stop a daemon. */
function heedSignals(stop: AbortController, cut: AbortController): void {
  const heed = (): void => (stop.signal.aborted ? cut : stop).abort()
  process.on('SIGTERM', heed)
  process.on('SIGINT', heed)
  process.on('SIGHUP', () => {})
}

function serverConfig({ plugins, configFile }: Context, given: Args): Args {
  const keys: TObject = Type.Object({
    ...serverKeys.properties,
    ...Object.assign({}, ...plugins.map(plugin => plugin.keys?.properties ?? {}))
  })
  const flags = Object.fromEntries(Object.keys(keys.properties).map(key => [key, given[key]]))
  const { plugins: _, ...table } = readConfig(keys, { file: configFile, env: process.env, flags })
  if (configFile !== null && 'operator_token' in parseFile(configFile))
    refuseReadable(configFile, 'operator_token')
  return table
}

const dataDirOf = (keys: Args): string => resolve(String(keys['data_dir'] ?? defaultDataDir(process.env)))

/** A level that is none is told with the configuration's other problems, at the default level. */
const logOf = (keys: Args) => ({
  level: /^(debug|info|warn|error)$/.exec(String(keys['log_level']))?.[0] ?? 'info',
  format: keys['log_format'] === 'pretty' ? ('pretty' as const) : ('json' as const)
})

const optionsOf = ({ plugins, sections, version }: Context, keys: Args, log: Options['log']): Options => ({
  plugins,
  sections,
  keys,
  version,
  log,
  dataDir: dataDirOf(keys)
})

const tableOf = (value: unknown): Args => (value ?? {}) as Args // checked with the rest of the configuration

const flagOf = (argv: readonly string[], flag: string): string | undefined => {
  const at = argv.findIndex(word => word === flag || word.startsWith(`${flag}=`))
  return at < 0 ? undefined : argv[at] === flag ? argv[at + 1] : argv[at]?.slice(flag.length + 1)
}
