import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { CommanderError } from 'commander'
import { systemClock } from '../../kernel/base/clock.ts'
import { type ErrorCode, Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { escapeControlChars } from '../../kernel/base/log.ts'
import { Releases } from '../../kernel/base/releases.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import type { ConfigFile } from '../../kernel/platform/config-file.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import { openApiClient, originIn } from './api/api-client.ts'
import { givenAuthorities } from './api/authorities.ts'
import { loginFile, readLogin, tokenFor } from './api/login-file.ts'
import { completion } from './program/completion.ts'
import { convertArgs } from './program/convert-args.ts'
import {
  type CommandIndex,
  type CommandModule,
  type CommandModules,
  type Described,
  InstalledCommands,
  type LoadedCommand,
  type Manifests
} from './program/installed-commands.ts'
import { openProgram } from './program/program.ts'
import { openPrint, printable, type Terminal } from './terminal/print.ts'
import { openStandardOutput, type StandardOutput } from './terminal/standard-output.ts'

/** The command line of a program: the commands of `index` that are in `modules`. */
export interface Source {
  readonly modules: CommandModules
  readonly index: CommandIndex
  /** Loads all manifests. `own`: the commands that belong to no plugin. */
  readonly loadManifests: (own: CommandModule, file: ConfigFile | null) => Promise<Manifests>
  /** Loads the code of commands that work on the server's host. */
  readonly loadServerContext: () => Promise<typeof import('./server/server-context.ts')>
}
type Args = Readonly<Record<string, unknown>>

/** Runs the command line and returns the exit code. Prints results on standard output, everything else on standard error. */
export async function runCommandLine(argv: readonly string[], source: Source): Promise<number> {
  process.umask(0o077)
  unsetEmptyVariables()
  const version = ownVersion()
  const isJson = valueIn(argv, '--output') === 'json'
  const output = openStandardOutput(process.stdout)
  try {
    await refuseReplacedBytes(argv)
    const words = wordsIn(argv)
    const file = await readServerConfig(argv, words)
    const installed = new InstalledCommands({
      ...source,
      file,
      agentFile: valueIn(argv, '--config') ?? null,
      async loadManifests() {
        const manifests = await source.loadManifests((await source.modules['agent']?.()) ?? {}, file)
        if (words[0] !== 'server') warnOfTrust(manifests) // a server logs it
        return manifests
      }
    })
    const described = await installed.described(words)
    const complete = completion(described)
    const group = described.filter(({ name }) => name.split(' ', 1)[0] === words[0])
    const offered = group.length > 0 ? group : [...described, complete] // describing all of them takes time
    const context = { version, installed, file, output, loadServerContext: source.loadServerContext }
    let exit = 0
    const run = async ({ name }: Pick<Described, 'name'>, args: Args): Promise<void> => {
      const isOwn = name === complete.name
      const chosen = isOwn ? { command: complete, filled: () => [] } : await installed.load(name)
      exit = await execute(chosen, args, context)
    }
    const program = openProgram(version, offered, run, {
      writeOut: output.write,
      writeErr: text => void (isJson || process.stderr.write(printable(text)))
    })
    await program.parseAsync(argv, { from: 'user' }).catch(error => {
      if (!(error instanceof CommanderError && error.exitCode === 0)) throw error // 0: it has printed help or the version
    })
    await output.flush()
    return exit
  } catch (error) {
    if (error instanceof CommanderError) {
      if (isJson) printErrorAsJson(new Fault(wrongUsage, error.message.replace(/^error: /, '')))
      return hold(argv, wrongUsage) // commander has already printed the message
    }
    if (!(error instanceof Fault)) throw error
    if (isJson) printErrorAsJson(error)
    else if (error.message !== '') printError(error)
    return hold(argv, error.errorCode)
  }
}

/** Waits with the exit code if the environment asks for it. Returns the code. */
async function hold(argv: readonly string[], errorCode: ErrorCode): Promise<number> {
  if ((process.env['SVC_HOLD_REFUSED_START'] ?? 'false') !== 'false')
    await (await import('./hold-refused-start.ts')).holdRefusedStart(wordsIn(argv).slice(0, 2), errorCode)
  return errorCode.exit
}

/** Node replaces bytes of arguments that are not UTF-8. */
async function refuseReplacedBytes(argv: readonly string[]): Promise<void> {
  const at = argv.findIndex(word => word.includes('\ufffd'))
  if (at < 0) return
  const given = await readFile('/proc/self/cmdline').catch(() => null) // not Linux: the character is taken as written
  if (given && !isUtf8(given))
    throw new Fault(wrongUsage, `argument ${at + 1} is not UTF-8; type it in UTF-8`)
}

/**
 * Returns the configuration, which defines which plugins are loaded. null: there is none, or the command needs none. `agent`
 * commands read that of the agent, `plugin` commands must work while a plugin is broken, `setup` may write it.
 */
async function readServerConfig(
  argv: readonly string[],
  [first = '']: readonly string[]
): Promise<ConfigFile | null> {
  if (/^(agent|plugin)$/.test(first)) return null
  const path = checkedFile(argv) ?? valueIn(argv, '--config') ?? process.env['SVC_CONFIG']
  if (path === undefined || (first === 'setup' && !existsSync(path))) return null
  return (await import('../../kernel/platform/config-file.ts')).readConfigFile(path)
}

/** Returns FILE of `config check FILE`. */
function checkedFile(argv: readonly string[]): string | undefined {
  const at = argv.indexOf('config')
  const file = at >= 0 && argv[at + 1] === 'check' ? argv[at + 2] : undefined
  return file?.startsWith('-') ? undefined : file
}

/** Prints the error in the format of an API reply. */
function printErrorAsJson({ errorCode: { code }, message, details }: Fault): void {
  process.stderr.write(
    printable(`${JSON.stringify({ error: { code, message, ...(details && { details }) } }, null, 2)}\n`)
  )
}

function printError({ errorCode: { code }, message, details = {} }: Fault): void {
  const lines = [
    printable(`${code}: ${message}`),
    ...Object.entries(details).map(([key, value]) =>
      escapeControlChars(`  ${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    )
  ]
  if (process.stderr.isTTY) lines.push(escapeControlChars(`  sluice explain-error ${code}`))
  process.stderr.write(`${lines.join('\n')}\n`)
}

interface Context {
  readonly output: StandardOutput
  readonly version: string
  readonly installed: InstalledCommands
  readonly file: ConfigFile | null
  readonly loadServerContext: Source['loadServerContext']
}

/** Returns the exit code. */
async function execute({ command, filled }: LoadedCommand, given: Args, context: Context): Promise<number> {
  const { env } = process
  const { installed, output } = context
  const plainHttp = given['insecure_http'] === true ? 'allowed' : 'refused'
  const exitOf = (code: string) => installed.exitOf(code)
  const connect = (origin: string, token: string | undefined) => {
    const authorities = (): string | undefined =>
      givenAuthorities(given['cacert'], env) ?? readLogin(loginFile(env), origin)?.cacert
    return openApiClient({ origin, token, exitOf, plainHttp, authorities })
  }
  const format = given['output']
  if (format !== 'table' && format !== 'json')
    throw new Fault(wrongUsage, `--output must be table or json, got ${String(format)}`)
  const stop = new AbortController()
  output.failed.addEventListener('abort', () => stop.abort(), { once: true })
  const force = new AbortController()
  const acquired = new Releases() // of services that `open` starts; run when the command ends
  const onReload =
    command.until === 'stopped' ? (await import('./handle-signals.ts')).handleSignals(stop, force) : () => {}

  const origin = originIn(given['server'], env)
  const serverContext = await openContext(command, given, context, { signal: stop.signal, acquired })
  const call: CommandCall<Args> = {
    ...serverContext,
    args: convertArgs(command.args, given),
    api: connect(origin, command.needs === 'api' ? await tokenFor(origin, env) : undefined),
    connect,
    filled,
    print: openPrint(
      format,
      text => output.write(`${text}\n`),
      text => void process.stderr.write(`${text}\n`),
      process.stdout.isTTY ? terminal() : undefined,
      given['bytes'] === true ? 'exact' : 'short'
    ),
    confirm: async (...question) => {
      const { openConfirm } = await import('./terminal/confirm.ts')
      await openConfirm({ input: process.stdin, isConfirmed: given['yes'] === true })(...question)
    },
    input: process.stdin,
    env,
    signal: stop.signal,
    forceSignal: force.signal,
    onReload
  }
  const worksOnData = command.needs === 'data' || (command.needs === 'server' && command.until !== 'stopped')
  const dir = worksOnData ? serverContext.dataDir() : given['state_dir']
  const restoreOwner =
    typeof dir === 'string' ? (await import('./server/keep-owner.ts')).keepOwner(dir) : () => {}
  try {
    return (await command.run(call)) ?? 0
  } catch (error) {
    if (error === stop.signal.reason) return 0 // stopped before it began
    throw await withSuggestion(error, command, call)
  } finally {
    stop.abort()
    await acquired.run()
    restoreOwner()
  }
}

const exitNotFound = 8

/** Adds the closest name to the error if an object of the command does not exist. */
async function withSuggestion(
  error: unknown,
  command: LoadedCommand['command'],
  { args, api }: Pick<CommandCall<Args>, 'args' | 'api'>
): Promise<unknown> {
  const isNotFound = error instanceof Fault && error.errorCode.exit === exitNotFound
  if (!isNotFound || command.needs !== 'api') return error
  const { suggestName } = await import('./program/suggest-name.ts')
  error.message += await suggestName(command, args, api)
  return error
}

function warnOfTrust({ firstTrusted }: Pick<Manifests, 'firstTrusted'>): void {
  for (const text of firstTrusted) process.stderr.write(`note: ${text}\n`)
}

/** NO_COLOR and FORCE_COLOR decide about colors. */
function terminal(): Terminal {
  const { styleText } = process.getBuiltinModule('node:util')
  return {
    width: process.stdout.columns,
    now: systemClock.now(),
    paint: (style, text) => styleText(style, text, { stream: process.stdout })
  }
}

type ServerContext = Pick<CommandCall<object>, 'keys' | 'dataDir' | 'stores' | 'open' | 'serve' | 'check'>
type Lifetime = { readonly signal: AbortSignal; readonly acquired: Releases }

async function openContext(
  { name, needs }: LoadedCommand['command'],
  given: Args,
  { installed, version, file, loadServerContext }: Context,
  lifetime: Lifetime
): Promise<ServerContext> {
  if (needs === 'data' || needs === 'server') {
    const manifests = await installed.manifests()
    const { openServerContext } = await loadServerContext()
    return openServerContext({ ...manifests, version, file }, given, lifetime)
  }
  const absent = (): never => {
    throw new TypeError(`${name} has no data directory: its \`needs\` is ${needs}`)
  }
  return { keys: absent, dataDir: absent, stores: [], open: absent, serve: absent, check: absent }
}

/** Treats empty variables as unset, so that `SVC_TOKEN=` does not hide the token of a login. */
function unsetEmptyVariables(): void {
  for (const [name, value] of Object.entries(process.env))
    if (name.startsWith('SVC_') && value === '') delete process.env[name]
}

/** Returns the last value given for an option, as commander does. */
function valueIn(argv: readonly string[], option: string): string | undefined {
  const at = argv.findLastIndex(word => word === option || word.startsWith(`${option}=`))
  return argv[at] === option ? argv[at + 1] : argv[at]?.slice(option.length + 1)
}

/** Returns the first three words, with which the command's name may begin. Only --config may precede them. */
const wordsIn = (argv: readonly string[]): string[] =>
  argv.filter((word, at) => !word.startsWith('-') && argv[at - 1] !== '--config').slice(0, 3)
