import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import { originIn, quoteForShell } from '../cli/exports.ts'
import { enrollAgent, runAgent } from './agent-process.ts'
import { operatorTokenIn } from './operator-token.ts'

export const up = defineCommand({
  name: 'up',
  summary: 'Run a server and an agent on this machine, to try sluice.',
  args: Type.Object({
    advertised_endpoint: Type.Optional(
      Type.String({ description: 'HOST:PORT at which other agents reach this server; implies --public.' })
    ),
    public: Type.Optional(
      Type.Boolean({ description: 'Listen for agents on all addresses, not only on loopback.' })
    )
  }),
  needs: 'server',
  until: 'stopped',
  async run({ args, serve, connect, keys, dataDir, print, signal, forceSignal, onReload }) {
    const { operator_token: configured, advertised_endpoint: endpoint } = keys()
    const token =
      typeof configured === 'string' ? { value: configured, file: null } : operatorTokenIn(dataDir())
    const isLocal = args.public !== true && endpoint === undefined
    const agentIsDone = new AbortController()
    let setupToken: string | undefined
    let page: string | undefined // of the console
    const server = await serve({
      signal: agentIsDone.signal, // the server stops after the agent, so that it receives the last report
      defaults: { operator_token: token.value, ...(isLocal && { control_listen: '127.0.0.1:7443' }) },
      onLog: (event, message) => {
        if (event === 'onboarding.setup_token') setupToken = /[\w-]{43}$/.exec(message)?.[0]
        if (event === 'console.setup' || event === 'console.ready') page = /https?:\S+$/.exec(message)?.[0]
      }
    })
    onReload(server.reload)
    const stateDir = join(dataDir(), 'agent')
    await enrollOnce(connect(server.origin, token.value), stateDir)
    const agent = runAgent({ stateDir, signal, force: forceSignal })
    for (const line of nextSteps(server.origin, token.file, setupToken)) print.line(line)
    if (page !== undefined)
      print.line(`\n${setupToken === undefined ? 'Console' : 'Or start in a browser'}: ${page}`)
    try {
      await Promise.race([server.done, agent.failed, agent.done])
    } finally {
      agentIsDone.abort()
    }
    await server.done
  }
})

/** Enrolls the local agent unless it is already enrolled. */
async function enrollOnce(api: Api, stateDir: string): Promise<void> {
  if (existsSync(join(stateDir, 'bundle.json'))) return
  const { uri } = await api.call('POST /v1/client-enrollments', { body: { name: 'local' } })
  await enrollAgent(uri, stateDir)
}

/** `tokenFile` null: the operator token is configured. */
function nextSteps(origin: string, tokenFile: string | null, setupToken: string | undefined): string[] {
  const token = tokenFile === null ? 'YOUR_OPERATOR_TOKEN' : `$(cat ${quoteForShell(tokenFile)})`
  const server = origin === originIn(undefined, {}) ? '' : `SVC_SERVER=${origin} `
  const { host } = new URL(origin)
  return [
    '',
    `sluice is up. Operator API: ${origin}  (operator token: ${tokenFile ?? 'as configured'})`,
    setupToken === undefined
      ? `Sign in: ${server}${self()} login USER`
      : `First sign-in: ${server}${self()} setup\n  with this setup token, valid for 30 minutes: ${setupToken}`,
    '',
    'A first rule: port 8080 of this machine, forwarded to the operator API itself. Paste:',
    `  ${server}SVC_TOKEN=${token} ${self()} rule push local 8080 ${host}`,
    'and test it:',
    '  curl http://127.0.0.1:8080/v1/auth/status',
    '',
    'Ctrl-C stops both.'
  ]
}

/** Returns the shell command for this program; in a checkout, the one from the README. */
const self = (): string =>
  process.env['npm_package_name'] === 'sluice'
    ? 'npm run -s sluice --'
    : [process.execPath, process.argv[1] ?? ''].map(quoteForShell).join(' ')
