import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import { originIn, quoteForShell } from '../cli/exports.ts'
import { enrollAgent, requireAgentConfig, runAgent } from './agent-process.ts'
import { operatorTokenIn } from './operator-token.ts'

export const up = defineCommand({
  name: 'up',
  summary: 'Run a server and an agent on this machine, to try sluice.',
  args: Type.Object({
    advertised_endpoint: Type.Optional(
      Type.String({ description: 'HOST:PORT at which other agents reach this server; like --public HOST.' })
    ),
    public: Type.Optional(
      Type.String({
        description: 'Name or address at which other agents reach this server; listens on all addresses.'
      })
    )
  }),
  needs: 'server',
  until: 'stopped',
  async run({ args, serve, connect, keys, dataDir, print, signal, forceSignal, onReload }) {
    const given = keys()
    const { operator_token: configured } = given
    const endpoint = given['advertised_endpoint'] ?? publicEndpoint(args.public, given['control_listen'])
    const stateDir = join(dataDir(), 'agent')
    await requireAgentConfig(stateDir, given)
    const token =
      typeof configured === 'string' ? { value: configured, file: null } : operatorTokenIn(dataDir())
    const agentIsDone = new AbortController()
    let setupToken: string | undefined
    let page: string | undefined // of the console
    const serverPorts = new Set<number>()
    let controlPort = 0
    const server = await serve({
      signal: agentIsDone.signal, // the server stops after the agent, so that it receives the last report
      defaults: {
        operator_token: token.value,
        ...(endpoint === undefined ? { control_listen: '127.0.0.1:7443' } : { advertised_endpoint: endpoint })
      },
      onLog: (event, message, fields) => {
        if (event === 'onboarding.setup_token') setupToken = /[\w-]{43}$/.exec(message)?.[0]
        if (event === 'console.setup' || event === 'console.ready') page = /https?:\S+$/.exec(message)?.[0]
        for (const port of listenPorts(event, fields)) serverPorts.add(port)
        if ('control_port' in fields) controlPort = Number(fields.control_port)
      }
    })
    onReload(server.reload)
    const local = `${localHost(given['control_listen'])}:${controlPort}`
    const api = connect(server.origin, token.value)
    await enrollOnce(api, stateDir, local)
    const agent = runAgent({ stateDir, serverPorts, signal, force: forceSignal })
    const isFirst = (await api.get<readonly object[]>('/v1/rules?limit=1')).length === 0
    for (const line of nextSteps(server.origin, token.file, setupToken, isFirst)) print.text(line)
    if (page !== undefined)
      print.text(`\n${setupToken === undefined ? 'Console' : 'Or start in a browser'}: ${page}`)
    try {
      await Promise.race([server.done, agent.failed, agent.done])
    } finally {
      agentIsDone.abort()
    }
    await server.done
  }
})

/** Returns the endpoint for `--public`, which may have a port; otherwise it is that of the listener. */
function publicEndpoint(host: string | undefined, listen: unknown): string | undefined {
  if (host === undefined || host.includes(':')) return host
  return `${host}:${/\d+$/.exec(String(listen ?? ''))?.[0] ?? 7443}`
}

/** Returns the address of this machine at which the control stream listens. */
function localHost(listen: unknown): string {
  const { hostname } = new URL(`tcp://${listen ?? '127.0.0.1'}`)
  return ['', '0.0.0.0', '[::]'].includes(hostname) ? '127.0.0.1' : hostname
}

/** Returns the ports that the event says the server listens on: those of API, control stream and metrics. */
function listenPorts(event: string, fields: object): number[] {
  const { origin, control_port, port }: { origin?: string; control_port?: number; port?: number } = fields
  if (event === 'metrics.listening' && port !== undefined) return [port]
  if (event !== 'server.started' || origin === undefined || control_port === undefined) return []
  const { protocol, port: api } = new URL(origin)
  return [control_port, Number(api || (protocol === 'https:' ? 443 : 80))]
}

/** Enrolls the local agent unless it is already enrolled. */
async function enrollOnce(api: Api, stateDir: string, endpoint: string): Promise<void> {
  if (existsSync(join(stateDir, 'bundle.json'))) return
  const { uri } = await api.call('POST /v1/client-enrollments', { body: { name: 'local' } })
  await enrollAgent(uri, stateDir, endpoint)
}

/** `tokenFile` null: the operator token is configured. */
function nextSteps(
  origin: string,
  tokenFile: string | null,
  setupToken: string | undefined,
  isFirst: boolean // there is no rule yet
): string[] {
  const token = tokenFile === null ? 'YOUR_OPERATOR_TOKEN' : `$(cat ${quoteForShell(tokenFile)})`
  const server = origin === originIn(undefined, {}) ? '' : `SVC_SERVER=${origin} `
  return [
    '',
    `sluice is up. Operator API: ${origin}  (operator token: ${tokenFile ?? 'as configured'})`,
    setupToken === undefined
      ? `Sign in: ${server}${self()} login USER`
      : `First sign-in: ${server}${self()} setup\n  with this setup token, valid for 30 minutes: ${setupToken}`,
    '',
    ...(isFirst
      ? [
          'A first rule: port 8080 of this machine, forwarded to port 8000. Paste:',
          `  ${server}SVC_TOKEN=${token} ${self()} rule push local 8080 127.0.0.1:8000`,
          'run a web server there, such as this one:',
          `  ${node()} -e "http.createServer((_, reply) => reply.end('it works')).listen(8000, '127.0.0.1')"`,
          'and test it:',
          '  curl http://127.0.0.1:8080/'
        ]
      : ['The rules:', `  ${server}SVC_TOKEN=${token} ${self()} rule list`]),
    '',
    'Programs behind forwarded ports of this machine get the cookie of the console; without its key it opens nothing.',
    'Scripts should use tokens. In production, give the API a separate host name.',
    '',
    'Ctrl-C stops both.'
  ]
}

const isCheckout = (): boolean => process.env['npm_package_name'] === 'sluice'
const node = (): string => (isCheckout() ? 'node' : quoteForShell(process.execPath))

/** Returns the shell command for this program; in a checkout, the one from the README. */
const self = (): string =>
  isCheckout()
    ? 'npm run -s sluice --'
    : [process.execPath, process.argv[1] ?? ''].map(quoteForShell).join(' ')
