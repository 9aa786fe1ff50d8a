import { existsSync } from 'node:fs'
import { Fault, serverUnreachable, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { pathArgument } from '../../kernel/platform/path-problem.ts'
import { cacertHelp, originIn, quoteForShell } from '../cli/exports.ts'
import { createAdministrator, refuseSecond } from './administrator.ts'
import { askEndpoint, askPassword, askSetupToken, askUser } from './answers.ts'
import { localOrigin, startServer, writeConfig } from './new-server.ts'
import { openQuestions, type Questions } from './questions.ts'

interface Args {
  readonly user?: string
  readonly display_name?: string
  readonly server?: string
  readonly origin?: string
  readonly cacert?: string
  readonly config?: string
}
type Call = CommandCall<Args>

export const setup = defineCommand({
  name: 'setup',
  summary: 'Create the first administrator and sign in, on a running server or on a new one.',
  args: Type.Object({
    user: Type.Optional(Type.String({ description: 'Id of the administrator; default at a terminal: ask.' })),
    display_name: Type.Optional(Type.String({ description: 'Name of the administrator; default: the id.' })),
    server: Type.Optional(
      Type.String({
        description: 'Origin of a running server; default: SVC_SERVER, else the server on this host.'
      })
    ),
    origin: Type.Optional(
      Type.String({ description: 'Public origin of the server, if --server is a different address.' })
    ),
    cacert: Type.Optional(Type.String({ description: cacertHelp })),
    insecure_http: Type.Optional(
      Type.Boolean({ description: 'Send secrets over plain HTTP to another host.' })
    ),
    config: Type.Optional(
      Type.String({ description: 'TOML configuration of a new server; created if it does not exist.' })
    ),
    advertised_endpoint: Type.Optional(
      Type.String({ description: 'HOST:PORT at which agents will reach a new server.' })
    )
  }),
  positional: ['user'],
  needs: 'server',
  async run(call) {
    const { args, env, input, print } = call
    const isNamed = args.server !== undefined || env['SVC_SERVER'] !== undefined
    const origin = isNamed ? originIn(args.server, env) : localOrigin(call.keys())
    const questions = openQuestions(input)
    try {
      const isRunning = await needsSetup(call, origin, isNamed)
      const { next, ...done } = await (isRunning ? setUpRunning : setUpNew)(call, origin, questions)
      const last = ['', 'Next:', ...next.map(line => `  ${line}`)].join('\n')
      print.data({ ...done, next }, Object.keys(done), last)
    } finally {
      questions.close()
    }
  }
})

/** Returns false if no server runs and the caller named none. Throws Fault if the server is already set up. */
async function needsSetup({ connect }: Call, origin: string, isNamed: boolean): Promise<boolean> {
  try {
    const status = await connect(origin, '').get<{ onboarding_required: boolean }>('/v1/auth/status')
    return status.onboarding_required || refuseSecond(origin)
  } catch (error) {
    if (!isNamed && error instanceof Fault && error.errorCode === serverUnreachable) return false
    throw error
  }
}

async function setUpRunning(call: Call, origin: string, questions: Questions) {
  const { args, env } = call
  const file = fileOf(call)
  if (file !== undefined && !existsSync(file))
    throw new Fault(wrongUsage, `${file} does not exist, and ${origin} is already running: omit --config`)
  const user = await askUser(questions, args.user)
  const password = await askPassword(questions, env)
  const setupToken = await askSetupToken(questions, env)
  const { cacert, origin: publicOrigin, display_name: displayName = user } = args
  const given = { origin, publicOrigin, cacert, user, displayName }
  const login = await createAdministrator(call, { ...given, password, setupToken }, questions)
  return { ...login, next: firstSteps(call, origin) }
}

async function setUpNew(call: Call, origin: string, questions: Questions) {
  const { args, env, keys } = call
  const file = fileOf(call)
  const isService = isForService(call, file)
  const dataDir = isService ? serviceDataDir : call.dataDir()
  if (questions.isTerminal)
    process.stderr.write(`No server is running at ${origin}. This creates one in ${dataDir}.\n`)
  const user = await askUser(questions, args.user)
  const password = await askPassword(questions, env)
  const endpoint = await askEndpoint(questions, keys()['advertised_endpoint'])
  const settings = endpoint === undefined ? {} : { advertised_endpoint: endpoint }
  const known = { data_dir: dataDir, ...settings }
  const written = file === undefined ? null : writeConfig(file, known)
  try {
    const server = await startServer(call, known)
    const publicOrigin = keys()['operator_http_public_origin'] as string | undefined // checked
    const given = { origin, publicOrigin, user, displayName: args.display_name ?? user, password }
    const login = await createAdministrator(call, { ...given, ...server }, questions).finally(server.stop)
    const start = isService ? serviceSteps : [startCommand(file, written ? {} : known)]
    return { ...login, data_dir: dataDir, next: [...start, ...firstSteps(call, origin)] }
  } catch (error) {
    written?.undo()
    throw error
  }
}

const fileOf = ({ args, env }: Call): string | undefined => {
  const file = args.config ?? env['SVC_CONFIG']
  return file === undefined ? undefined : pathArgument('--config', file)
}

const serviceDataDir = '/var/lib/sluice' // of the systemd unit
const serviceConfig = '/etc/sluice/server.toml'
const serviceSteps = [
  'sluice service install server',
  'systemctl daemon-reload && systemctl enable --now sluice-server'
]

/** True if root writes the configuration of the systemd unit. Its data must be where the unit may write. */
const isForService = ({ keys }: Call, file: string | undefined): boolean =>
  file === serviceConfig && !existsSync(file) && process.getuid?.() === 0 && keys()['data_dir'] === undefined

function startCommand(file: string | undefined, keys: Readonly<Record<string, string>>): string {
  const options = file === undefined ? [] : ['--config', file]
  return ['sluice', 'server', ...options, ...optionsOf(keys)].map(quoteForShell).join(' ')
}

const optionsOf = (keys: Readonly<Record<string, string>>): string[] =>
  Object.entries(keys).flatMap(([key, value]) => [`--${key.replaceAll('_', '-')}`, value])

function firstSteps({ env }: Call, origin: string): string[] {
  const sluice = originIn(undefined, env) === origin ? 'sluice' : `SVC_SERVER=${quoteForShell(origin)} sluice`
  return [`${sluice} client enroll paris`, `${sluice} rule push paris 8080 127.0.0.1:80`]
}
