// Assigns fields of a rule to sections of the form. Unlisted fields, such as those of external plugins, appear in the last
// section.
import type { Text } from '../../../text/en.ts'

interface Section {
  readonly name: keyof Text['ruleForm']['sections']
  readonly keys: readonly string[]
}

/** Fields with special controls: Placement.tsx, Targets.tsx, RuleForm.tsx. */
export const ownControls: ReadonlySet<string> = new Set([
  'client',
  'clients',
  'listen_port',
  'listen_port_end',
  'protocol',
  'targets',
  'via',
  'if_offline'
])

const sections: readonly Section[] = [
  {
    name: 'balance',
    keys: [
      'balance',
      'source_hash_ipv6_prefix',
      'slow_connect_ms',
      'slow_start_secs',
      'health_check_interval_secs',
      'prefer_ipv6'
    ]
  },
  { name: 'tls', keys: ['sni_pattern', 'sni_fallback'] },
  { name: 'access', keys: ['allow_sources', 'deny_sources', 'source_limit', 'ban', 'amplification'] },
  { name: 'limits', keys: ['rate_limit'] },
  { name: 'times', keys: ['not_before', 'expires_at', 'schedule', 'at_end'] },
  { name: 'proxy', keys: ['proxy_in', 'proxy_out', 'proxy_out_udp'] },
  { name: 'record', keys: ['name', 'description', 'labels', 'owner', 'placed_by', 'paused'] }
]

const known = new Set(sections.flatMap(({ keys }) => keys))

/** Groups `keys` by section and drops empty sections. */
export const groupIntoSections = (keys: readonly string[]): readonly Section[] =>
  [
    ...sections.map(({ name, keys: own }) => ({ name, keys: own.filter(key => keys.includes(key)) })),
    { name: 'more' as const, keys: keys.filter(key => !known.has(key) && !ownControls.has(key)) }
  ].filter(({ keys }) => keys.length > 0)

/** Fields that exist for one protocol only. The server enforces this, too. */
export const protocolOf: Readonly<Record<string, 'tcp' | 'udp'>> = {
  amplification: 'udp',
  proxy_out_udp: 'udp',
  sni_pattern: 'tcp',
  sni_fallback: 'tcp',
  ban: 'tcp',
  health_check_interval_secs: 'tcp'
}

/** Fields that have an effect only with one of these other fields. A record contains their default. */
export const dependsOn: Readonly<Record<string, readonly string[]>> = {
  at_end: ['expires_at', 'schedule', 'not_before'],
  proxy_out_udp: ['proxy_out']
}

/** The field to correct for error codes that name none. */
export const fieldOfCode: Readonly<Record<string, string>> = {
  port_in_use: 'listen_port',
  port_outside_grant: 'listen_port',
  'conflict.sni_route_duplicate': 'sni_pattern',
  'conflict.sni_fallback_duplicate': 'sni_fallback',
  'conflict.legacy_to_sni_unsupported': 'listen_port',
  protocol_not_granted: 'protocol',
  unsupported_protocol: 'protocol',
  client_not_granted: 'client',
  client_not_connected: 'client',
  client_not_found: 'client',
  client_name_ambiguous: 'client',
  sni_unsupported_by_client: 'sni_pattern',
  rate_limit_unsupported_by_client: 'rate_limit',
  multi_target_unsupported_by_client: 'targets',
  target_not_granted: 'targets',
  exit_not_granted: 'via',
  link_no_endpoint: 'via',
  client_revoked: 'via',
  user_not_found: 'owner'
}
