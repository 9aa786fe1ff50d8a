// The agent's configuration: guardrails, engine, state directory. The server cannot change it.
import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import { agentPlugins } from '../config/agent-plugins.ts'
import { ListenAddress, type PlaceOf, throwProblems, validateConfig } from '../kernel/base/config.ts'
import { defaultDir } from '../kernel/base/directory.ts'
import { readConfigFile, readKeys } from '../kernel/platform/config-file.ts'
import { type LoadedPlugins, settingsIn } from '../kernel/platform/plugins/load-plugins.ts'
import type { AgentPlugin } from './plugin.ts'
import { type Guardrails, openGuardrails } from './rules/guardrails.ts'

const Address = Type.Refine(
  Type.String(),
  text => isIP(text) !== 0,
  () => 'must be an IP address of this machine'
)

export const agentKeys = Type.Object({
  state_dir: Type.Optional(Type.String({ description: 'Directory of rules, journal and bundle.' })),
  bind: Type.Array(Address, {
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
    description: 'Targets that rules may use: addresses, CIDRs or names, optionally with ports; empty: all.'
  }),
  deny_targets: Type.Array(Type.String(), {
    default: ['169.254.0.0/16', 'fe80::/10', '224.0.0.0/4', 'ff00::/8', '0.0.0.0/8', '::/128'],
    description: 'Targets that no rule may use. IPv4 entries also apply to the IPv4-mapped IPv6 form.'
  }),
  engine: Type.Union([Type.Literal('auto'), Type.Literal('native'), Type.Literal('portable')], {
    default: 'auto',
    description: 'The engine that forwards; auto: native where it loads.'
  }),
  threads: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 64,
      description: 'Threads of the native engine; default: one for each core, at most 4.'
    })
  ),
  metrics_listen: Type.Optional(
    ListenAddress({
      description:
        'Address (host:port) of /metrics, which needs no authentication; without it /metrics is off.'
    })
  ),
  log_level: Type.Union(
    ['debug', 'info', 'warn', 'error'].map(level => Type.Literal(level)),
    { default: 'info', description: 'Lowest level to write.' }
  ),
  log_format: Type.Enum(['auto', 'json', 'pretty'], {
    default: 'auto',
    description: 'json: one object per line; pretty: for people; auto: pretty on a terminal, otherwise json.'
  }),
  plugins: Type.Record(
    Type.String(),
    Type.Object({ enabled: Type.Optional(Type.Boolean()), development: Type.Optional(Type.Boolean()) }),
    {
      default: {},
      description:
        '[plugins.<name>]: settings of the plugin; enabled = false turns it off; a path or a package name adds one.'
    }
  )
})

export interface ConfigSources {
  readonly file: string | null
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stateDir?: string | undefined
}

/** The first prefix is only for the agent: the machine can also run a server. */
const prefixes = ['SVC_AGENT_', 'SVC_']

export type AgentConfig = Static<typeof agentKeys> & {
  readonly state_dir: string
  readonly guardrails: Guardrails
  readonly placeOf: PlaceOf
}

/** Reads flags, then environment, then file, then defaults. Throws one Fault with all problems. */
export function readAgentConfig({ file, env, stateDir }: ConfigSources): AgentConfig {
  const read = file === null ? null : readConfigFile(file)
  const { table, placeOf } = readKeys(agentKeys, {
    file: read,
    env,
    prefixes,
    flags: { state_dir: stateDir }
  })
  const { value, problems } = validateConfig(agentKeys, table, '', placeOf)
  throwProblems(problems)
  const keys = value as Static<typeof agentKeys> // validateConfig has found no problems
  const guardrails = openGuardrails(keys, problems)
  throwProblems(problems)
  return { ...keys, state_dir: keys.state_dir || defaultDir(env, 'sluice/agent'), guardrails, placeOf }
}

interface PluginSections {
  readonly loaded: LoadedPlugins<AgentPlugin>
  readonly table: Readonly<Record<string, { readonly enabled?: boolean }>> // [plugins] as read
  readonly placeOf: PlaceOf
}

/** Returns the configuration of each plugin by its name. Throws one Fault with all problems. */
export function pluginConfigs({ loaded, table, placeOf }: PluginSections): Record<string, unknown> {
  const { plugins, specifiers } = loaded
  const check = (specifier: string, { config = Type.Object({}) }: Pick<AgentPlugin, 'config'>) => {
    const origin = Object.hasOwn(agentPlugins, specifier) ? 'built-in' : 'external'
    const section = settingsIn(table[specifier] ?? {}, origin)
    const key = /^[\w-]+$/.test(specifier) ? specifier : JSON.stringify(specifier)
    return validateConfig(config, section, `plugins.${key}`, placeOf)
  }
  const checked = plugins.map(plugin => [plugin.name, check(specifiers[plugin.name] ?? '', plugin)] as const)
  const known = new Set(Object.values(specifiers))
  const others = Object.entries(table).filter(([name, { enabled = true }]) => enabled && !known.has(name))
  const withoutHalf = others.flatMap(([specifier]) => check(specifier, {}).problems)
  throwProblems([...checked.flatMap(([, { problems }]) => problems), ...withoutHalf])
  return Object.fromEntries(checked.map(([name, { value }]) => [name, value]))
}
