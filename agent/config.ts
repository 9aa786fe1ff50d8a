// The agent's configuration: guardrails, engine, state directory. The server cannot change it.
import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import { agentPlugins } from '../config/agent-plugins.ts'
import { atPlace, ListenAddress, type PlaceOf, throwProblems, validateConfig } from '../kernel/base/config.ts'
import { defaultDir } from '../kernel/base/directory.ts'
import { readConfigFile, readKeys } from '../kernel/platform/config-file.ts'
import { type LoadedPlugins, settingsIn } from '../kernel/platform/plugins/load-plugins.ts'
import { canonicalAddress, familyOf, isUnspecified } from './net/address.ts'
import type { AgentPlugin } from './plugin.ts'
import { type Guardrails, openGuardrails } from './rules/guardrails.ts'

const Address = Type.Refine(
  Type.String(),
  text => isIP(text) !== 0,
  () => 'must be an IP address of this machine'
)

/** Local addresses. Two listeners on one port cannot have the same address, nor one of them all addresses of its family. */
const BindAddresses = Type.Refine(
  Type.Array(Address, {
    default: ['0.0.0.0', '::'],
    minItems: 1,
    description: 'Local addresses that every listener binds.'
  }),
  addresses => overlapIn(addresses) === null,
  addresses => overlapIn(addresses) ?? ''
)

function overlapIn(addresses: readonly string[]): string | null {
  const canonical = (address: string): string => {
    const [, zone] = address.split('%')
    return canonicalAddress(address) + (zone === undefined ? '' : `%${zone}`)
  }
  for (const [at, address] of addresses.entries())
    for (const other of addresses.slice(at + 1)) {
      const one = canonical(address)
      const two = canonical(other)
      const overlaps =
        one === two || ((isUnspecified(one) || isUnspecified(two)) && familyOf(one) === familyOf(two))
      if (overlaps) return `has ${address} and ${other}, which overlap; remove one of them`
    }
  return null
}

/** Addresses of no host, and those at which clouds serve metadata and credentials of the machine; see README.md. */
const deniedTargets = [
  '0.0.0.0/8',
  '::/128',
  '224.0.0.0/4', // multicast
  'ff00::/8',
  '169.254.0.0/16', // link-local, with the metadata of most clouds
  'fe80::/10',
  'fd00:ec2::23', // AWS: credentials of EKS pods
  'fd00:ec2::254', // AWS
  'fd20:ce::254', // Google
  '168.63.129.16', // Azure
  '100.100.100.200', // Alibaba
  '192.0.0.192', // Oracle, first generation
  'fd00:c1::a9fe:a9fe', // Oracle
  'fd00:a9fe:a9fe::1', // Akamai
  'fd00:42::42' // Scaleway
]

export const agentKeys = Type.Object({
  state_dir: Type.Optional(
    Type.String({ isPath: true, description: 'Directory of rules, journal and bundle.' })
  ),
  bind: BindAddresses,
  allow_ports: Type.Array(Type.Union([Type.Integer(), Type.String()]), {
    default: [],
    description: 'Ports and ranges ("8000-8999") that rules may listen on; empty: all.'
  }),
  allow_targets: Type.Array(Type.String(), {
    default: [],
    description: 'Targets that rules may use: addresses, CIDRs or names, optionally with ports; empty: all.'
  }),
  deny_targets: Type.Array(Type.String(), {
    default: deniedTargets,
    description:
      'Targets that no rule may use. IPv4 entries also apply to IPv6 forms: IPv4-mapped, NAT64, 6to4, SIIT, Teredo.'
  }),
  deny_local_ports: Type.Array(Type.Union([Type.Integer(), Type.String()]), {
    default: [],
    description:
      'Ports and ranges of this machine that no rule may use as target, on any of its addresses: those of a sluice server. The port of metrics_listen is always denied.'
  }),
  allow_exit: Type.Boolean({
    default: true,
    description: 'This agent may dial targets and forward for rules of other clients; false: it refuses.'
  }),
  exit_entries: Type.Array(Type.String({ pattern: '^[^\\x00-\\x1f\\x7f]{1,255}$' }), {
    default: [],
    description: 'Ids or names of the clients for which it does so; empty: all.'
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
  tcp_dead_peer_secs: Type.Integer({
    default: 120,
    minimum: 0,
    maximum: 86_400,
    description:
      'A TCP peer that acknowledges nothing for this time, while data to it is under way, has failed; 0: the kernel decides.'
  }),
  idle_probe: Type.Boolean({
    default: true,
    description:
      'Connects to the first target of each TCP rule without traffic every 30 s, to report whether it is reachable; false: health depends on callers and on health checks of rules.'
  }),
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
  const deny_local_ports = [...keys.deny_local_ports, ...ownPorts(keys)]
  const wrong: string[] = []
  const guardrails = openGuardrails({ ...keys, deny_local_ports }, wrong)
  throwProblems(wrong.map(text => atPlace({ key: text.slice(0, text.indexOf(':')), text }, placeOf)))
  return { ...keys, state_dir: keys.state_dir || defaultDir(env, 'sluice/agent'), guardrails, placeOf }
}

/** The port of /metrics, which shows the rules of all owners without authentication. */
function ownPorts({ metrics_listen: listen = '' }: Static<typeof agentKeys>): number[] {
  const port = Number(/\d+$/.exec(listen)?.[0] ?? 0)
  return port === 0 ? [] : [port]
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
