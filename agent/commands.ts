import { resolve } from 'node:path'
import type { Static, TObject } from 'typebox'
import { systemClock } from '../kernel/base/clock.ts'
import { Type } from '../kernel/cli/args.ts'
import { type Column, type Command, defineCommand } from '../kernel/cli/command.ts'
import { pathArgument } from '../kernel/platform/path-problem.ts'
import { ownVersion } from '../kernel/platform/version.ts'
import { askAgent } from './local/ask-agent.ts'
import { runningArgs, stateDirOf } from './local/running-args.ts'
import type { AgentStatus } from './local/status-command.ts'
import type { AgentStart } from './main.ts'
import type { ObjectFailure, StatusRow } from './plugin.ts'
import { readUri } from './stream/read-uri.ts'

const commonArgs = {
  config: Type.Optional(Type.String({ description: 'TOML configuration of the agent.' })),
  bundle: Type.Optional(Type.String({ description: 'The bundle file; default: <state dir>/bundle.json.' })),
  state_dir: Type.Optional(Type.String({ description: 'Directory of rules, journal and bundle.' }))
}

type CommonArgs = Static<TObject<typeof commonArgs>>

const startOf = (args: CommonArgs, env: AgentStart['env']): AgentStart => ({
  file: args.config ?? null,
  env,
  stateDir: args.state_dir,
  bundleFile: args.bundle === undefined ? undefined : pathArgument('--bundle', args.bundle),
  version: ownVersion()
})

const serviceDir = '/var/lib/sluice-agent'

/** Returns what to do after the enrollment. The service has its own state directory. */
function nextStep({ config, bundle, state_dir: dir }: CommonArgs): string {
  if (dir !== undefined && resolve(dir) === serviceDir)
    return 'Next step: systemctl enable --now sluice-agent; without a unit, first: sluice service install agent'
  const options = Object.entries({ config, bundle, 'state-dir': dir })
  const given = options.flatMap(([name, value]) => (value === undefined ? [] : [` --${name} '${value}'`]))
  return `Next step: sluice agent run${given.join('')}`
}

export const commands: readonly Command[] = [
  defineCommand({
    name: 'agent enroll',
    summary: 'Enroll this machine as a client, with the URI from sluice client enroll or client key create.',
    args: Type.Object({
      uri: Type.Optional(
        Type.String({
          description: 'svc://..., or - to read it from standard input; default: SVC_ENROLL_URI.'
        })
      ),
      ...commonArgs
    }),
    positional: ['uri'],
    needs: 'nothing',
    async run({ args, env, input, print, signal }) {
      const uri = await readUri(args.uri, { env, input })
      const { enrollAgent } = await import('./main.ts')
      const { token: _, ...shown } = await enrollAgent(startOf(args, env), uri, signal)
      print.data(shown, ['client_id', 'client_name', 'server_endpoint'])
      print.note(nextStep(args))
    }
  }),
  defineCommand({
    name: 'agent run',
    summary: 'Run the agent: forward traffic until stopped.',
    args: Type.Object(commonArgs),
    needs: 'nothing',
    until: 'stopped',
    async run({ args, env, signal: stop, forceSignal: cut, onReload }) {
      const { startAgent } = await import('./main.ts') // large, and unused by commands that ask a running agent
      await startAgent(startOf(args, env), env['SVC_ENROLL_URI'], { stop, cut, onReload })
    }
  }),
  defineCommand({
    name: 'agent check',
    summary:
      'Check what a start of the agent would refuse: file, environment, plugins, bundle, directory, engine. The agent can stay running.',
    examples: ['sluice agent check --config /etc/sluice/agent.toml'],
    args: Type.Object(commonArgs),
    needs: 'nothing',
    async run({ args, env, print }) {
      const { checkAgent } = await import('./main.ts')
      await checkAgent(startOf(args, env), env['SVC_ENROLL_URI'])
      print.done('the configuration is valid', { valid: true })
    }
  }),
  defineCommand({
    name: 'agent status',
    summary: 'Show the running agent of this host: its connection, rules and plugins.',
    args: Type.Object(runningArgs),
    needs: 'nothing',
    async run({ args, env, print }) {
      const status = await askAgent(stateDirOf(args, env), { command: 'status', args: {} }, systemClock)
      const known = status as AgentStatus // the agent's own command returns it
      print.data(known, [...statusColumns, ...listColumns(known)])
    }
  })
]

/** Commands of the agent halves that a configuration loads; see `CommandModule`. */
export async function installed(file: string | null): Promise<readonly Command[]> {
  const { installedCommands } = await import('./local/installed-commands.ts')
  return installedCommands({ file, env: process.env })
}

const statusColumns: readonly Column<AgentStatus>[] = [
  'client_name',
  'client_id',
  'server_endpoint',
  [
    'connected',
    ({ connected, since, reason }) => (connected ? `since ${since}` : `no, since ${since}: ${reason}`)
  ],
  'version',
  'engine',
  ['rules', ({ rules: { open, closed, failed } }) => `${open} open, ${closed} closed, ${failed} failed`],
  'connections',
  ['not_in_force', ({ not_in_force: rows }) => rows.map(textOf).join('; ') || '-'],
  ['plugins', ({ plugins }) => plugins.map(({ name }) => name).join(', ')],
  ['capabilities', ({ plugins }) => plugins.flatMap(({ capabilities }) => pairs(capabilities)).join(', ')]
]

const ownLists = ['not_in_force', 'plugins']

/** Returns a column for each list of a plugin. */
const listColumns = (status: AgentStatus): Column<AgentStatus>[] =>
  Object.entries(status).flatMap(([name, rows]) =>
    Array.isArray(rows) && !ownLists.includes(name) ? [[name, () => rows.map(rowText).join('; ') || '-']] : []
  )

const rowText = (row: StatusRow): string =>
  Object.values(row)
    .filter(value => value !== null)
    .join(' ')

const textOf = ({ kind, id, reason, message }: ObjectFailure): string =>
  `${kind} ${id} ${reason} (${message})`

const pairs = (of: Readonly<Record<string, string>>): string[] =>
  Object.entries(of).map(([key, value]) => `${key} ${value}`)
