// The agent's configuration: what its machine allows, and where it keeps things. The server can widen none of it.
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { readConfig, throwProblems, validateConfig } from '../kernel/base/config.ts'
import type { EngineName } from './engine-selection.ts'
import { type Guardrails, openGuardrails } from './rules/guardrails.ts'

const Section = Type.Object({ enabled: Type.Optional(Type.Boolean()) }, { additionalProperties: false })

export const agentKeys = Type.Object({
  state_dir: Type.Optional(Type.String({ description: 'Where rules, journal and bundle live.' })),
  bind: Type.Array(Type.String(), {
    default: ['0.0.0.0', '::'],
    minItems: 1,
    description: 'Local addresses that every listener binds.'
  }),
  allow_ports: Type.Array(Type.Union([Type.Integer(), Type.String()]), {
    default: [],
    description: 'Ports and ranges ("8000-8999") that rules may listen on; empty: all.'
  }),
  allow_targets: Type.Array(Type.String(), {
    default: [],
    description: 'Addresses, CIDRs or names, with ports if need be, that may be dialled; empty: all.'
  }),
  deny_targets: Type.Array(Type.String(), {
    default: ['169.254.0.0/16', 'fe80::/10', '224.0.0.0/4', 'ff00::/8', '0.0.0.0/8', '::/128'],
    description:
      'What is never dialled, whatever a rule says. IPv4 entries hold for the IPv4-mapped form, too.'
  }),
  engine: Type.Union([Type.Literal('auto'), Type.Literal('native'), Type.Literal('portable')], {
    default: 'auto',
    description: 'The data plane; auto: native where it loads.'
  }),
  threads: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 64,
      description: 'Of the native engine; default: one a core, up to 4.'
    })
  ),
  metrics_listen: Type.Optional(
    Type.String({
      pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):[0-9]{1,5}$',
      description: 'Address of /metrics, which asks for no credential; off without.'
    })
  ),
  log_level: Type.Union(
    ['debug', 'info', 'warn', 'error'].map(level => Type.Literal(level)),
    { default: 'info', description: 'Least level that is written.' }
  ),
  log_format: Type.Union([Type.Literal('json'), Type.Literal('pretty')], {
    default: 'json',
    description: 'One JSON object a line, or the same for people.'
  }),
  plugins: Type.Record(Type.String(), Section, {
    default: {},
    description: '[plugins.<name>]: enabled = false, or another by path or package.'
  })
})

type Keys = Static<typeof agentKeys>

export interface AgentConfig {
  readonly stateDir: string
  readonly bind: readonly string[]
  readonly guardrails: Guardrails
  readonly engine: 'auto' | EngineName
  readonly threads: number | null
  readonly metricsListen: string | null
  readonly logLevel: string
  readonly logFormat: 'json' | 'pretty'
  readonly plugins: Keys['plugins']
}

type Env = Readonly<Record<string, string | undefined>>

export interface ConfigSources {
  readonly file: string | null
  readonly env: Env
  readonly stateDir?: string | undefined
}

/** Flag, then environment, then file, then default; all problems at once. */
export function readAgentConfig({ file, env, stateDir }: ConfigSources): AgentConfig {
  const given = readConfig(agentKeys, { file, env, flags: { state_dir: stateDir } })
  const { value, problems } = validateConfig(agentKeys, given, '')
  throwProblems(problems)
  const keys = value as Keys // settle found no problem
  const guardrails = openGuardrails(keys, problems)
  throwProblems(problems)
  return {
    stateDir: keys.state_dir ?? defaultStateDir(env),
    bind: keys.bind,
    guardrails,
    engine: keys.engine,
    threads: keys.threads ?? null,
    metricsListen: keys.metrics_listen ?? null,
    logLevel: keys.log_level,
    logFormat: keys.log_format,
    plugins: keys.plugins
  }
}

/** STATE_DIRECTORY is systemd's, and may name several. */
function defaultStateDir(env: Env): string {
  const [given] = (env['STATE_DIRECTORY'] ?? '').split(':')
  if (given) return given
  const home = env['XDG_STATE_HOME'] || join(env['HOME'] ?? '.', '.local', 'state')
  return join(home, 'sluice', 'agent')
}
