// Keys are names of the API. A field without an entry shows the title and description of its schema.

export const fields = {
  client: 'Client',
  clients: 'Clients',
  listen_port: 'Listen port',
  listen_port_end: 'Last port',
  targets: 'Targets',
  protocol: 'Protocol',
  prefer_ipv6: 'Prefer IPv6',
  owner: 'Owner',
  placed_by: 'Apply grants of',
  paused: 'Paused',
  amplification: 'Reply limit',
  balance: 'Load balancing',
  slow_connect_ms: 'Eject slow targets',
  slow_start_secs: 'Slow start',
  source_hash_ipv6_prefix: 'IPv6 prefix length',
  ban: 'Automatic bans',
  live: 'Open connections',
  for_secs: 'Ban for',
  failed_handshakes: 'Failed handshakes',
  name: 'Name',
  description: 'Description',
  labels: 'Labels',
  health_check_interval_secs: 'Health check interval',
  proxy_in: 'Trusted proxies',
  proxy_out: 'PROXY header version',
  proxy_out_udp: 'PROXY header on UDP',
  rate_limit: 'Rule limits',
  bandwidth_in_bps: 'Bandwidth in',
  bandwidth_out_bps: 'Bandwidth out',
  bandwidth_in_burst_bytes: 'Burst in',
  bandwidth_out_burst_bytes: 'Burst out',
  concurrent_connections: 'Concurrent connections',
  new_connections_per_sec: 'New connections per second',
  new_connections_burst: 'Burst of new connections',
  not_before: 'Starts',
  expires_at: 'Expires',
  schedule: 'Weekly hours',
  at_end: 'Open connections at the end',
  sni_pattern: 'TLS name',
  sni_fallback: 'Accept all other names',
  allow_sources: 'Allowed sources',
  deny_sources: 'Denied sources',
  source_limit: 'Limits per source',
  connections: 'Concurrent connections',
  new_connections: 'New connections',
  within_secs: 'Time window',
  ratio: 'Reply bytes per caller byte',
  proven_after: 'Caller verified after'
} as Readonly<Record<string, string>>

export const fieldHints = {
  balance: 'How connections are spread over targets of the same priority. Default: the first healthy target.',
  slow_connect_ms:
    'Ejects a target when connecting takes three times as long as usual and at least this much longer. 0: never. Default: 250.',
  slow_start_secs: 'How long a new or recovered target ramps up to its full share. Default: 10.',
  source_hash_ipv6_prefix: 'Callers with the same first bits use the same target. Default: 128.',
  ban: 'The agent bans sources that open too many connections or send invalid handshakes.',
  for_secs: 'Length of the first ban. Each further ban within a day is twice as long. Default: 600.',
  live: 'What happens to open connections of a banned source. Default: cut.',
  failed_handshakes: 'A source with more invalid handshakes within the time window is banned.',
  new_connections: 'How many connections one source may open within the time window.',
  within_secs: 'Length of the time window.',
  name: 'a-z, 0-9 and -. No other rule of the owner on the client may have it.',
  description: 'A note on one line, up to 255 bytes.',
  labels: 'Up to 32, one per line: key=value.',
  owner: 'A user id. Default: you.',
  placed_by: 'A user id. Enter the owner if grants of the owner must allow the rule.',
  paused: 'Reserves the port and forwards nothing.',
  proxy_out: '1 or 2. Targets get this header before the first byte.',
  not_before: 'The rule is closed before this time.',
  expires_at: 'The rule closes at this time and is removed later.',
  rate_limit: '',
  deny_sources:
    'These sources are refused, even if they are allowed above: addresses, prefixes, and lists such as @office.',
  source_limit: 'For each source: an IPv4 address or the /64 of an IPv6 address.',
  proxy_out_udp: 'Whether the first datagram of a flow has the header, or every datagram.'
} as Readonly<Record<string, string>>

/** Values of fields that offer a choice. */
export const choices = {
  balance: {
    priority: 'First healthy target',
    round_robin: 'Round robin',
    weighted: 'Weighted',
    least_connections: 'Fewest connections',
    source_hash: 'Same target per caller',
    random_two: 'Better of two random targets'
  },
  at_end: { keep: 'Keep', drain: 'Drain', cut: 'Cut' },
  live: { keep: 'Keep', cut: 'Cut' },
  proxy_out_udp: { first: 'First datagram', each: 'Every datagram' }
} as Readonly<Record<string, Readonly<Record<string, string>>>>

/** Codes of the API as text. */
export const reasons = {
  client_offline: 'The client is offline. The rule may still be running, but its state is unknown.',
  active: 'forwarded',
  connected: 'connected',
  connect_refused: 'refuses connections',
  connect_timeout: 'does not respond',
  unreachable: 'is unreachable',
  no_answer: 'does not answer',
  nxdomain: 'name does not exist',
  refused: 'refuses connections',
  timeout: 'does not respond',
  reset: 'resets connections',
  dns_nxdomain: 'name does not exist',
  dns_no_address: 'name has no address',
  dns_servfail: 'DNS server reports an error',
  dns_timeout: 'DNS server does not respond',
  denied_by_agent: 'denied by the guardrails of the client',
  target_closed: 'accepts, then closes at once',
  pending: 'The client has not confirmed it yet.',
  client_not_connected: 'The client is offline.',
  port_in_use: 'Another program or rule uses this port on the client.',
  rule_name_taken: 'Another rule of the owner on the client has this name.',
  client_not_granted: 'The owner has no grant for this client.'
} as Readonly<Record<string, string>>

/** Kinds of journal entries. */
export const kinds = {
  state: 'State',
  failover: 'Failover',
  limit: 'Limit',
  target: 'Target',
  edge: 'Client',
  quota: 'Quota',
  loop: 'Circle of rules',
  change: 'Change',
  under_attack: 'Under attack'
} as Readonly<Record<string, string>>
