// The names and descriptions of limits in rules, requests and commands.
const limits = {
  bandwidth_in_bps: 'Bits per second from caller to target.',
  bandwidth_out_bps: 'Bits per second from target to caller.',
  bandwidth_in_burst_bytes: 'Burst in bytes; default: 100 ms of the rate, at least 16 KiB.',
  bandwidth_out_burst_bytes: 'Burst in bytes; default: 100 ms of the rate, at least 16 KiB.',
  concurrent_connections: 'Connections open at the same time; a UDP flow counts as a connection.',
  new_connections_per_sec: 'New connections per second; a UDP flow counts as a connection.',
  new_connections_burst: 'Burst of new connections; default: one second of the rate.'
} as const
export type LimitName = keyof typeof limits

export const limitNames = Object.keys(limits) as LimitName[] // its own keys

/** Makes a value for each limit, such as a schema, from its description. */
export const eachLimit = <T>(
  make: (description: string, name: LimitName) => T
): Readonly<Record<LimitName, T>> =>
  Object.fromEntries(limitNames.map(name => [name, make(limits[name], name)])) as Record<LimitName, T> // of all names
