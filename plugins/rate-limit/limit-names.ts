// The names of limits, in rules, requests and commands alike, with what each means.
const limits = {
  bandwidth_in_bps: 'Bits per second towards the targets.',
  bandwidth_out_bps: 'Bits per second towards the callers.',
  bandwidth_in_burst_bytes: 'Default: 100 ms of the rate, at least 16 KiB.',
  bandwidth_out_burst_bytes: 'Default: 100 ms of the rate, at least 16 KiB.',
  concurrent_connections: 'Open at the same time; a UDP flow is a connection.',
  new_connections_per_sec: 'A UDP flow is a connection.',
  new_connections_burst: 'Default: one second of the rate.'
} as const
export type LimitName = keyof typeof limits

export const limitNames = Object.keys(limits) as LimitName[] // its own keys

/** Makes a schema or another value for each limit, of what it means. */
export const eachLimit = <T>(make: (meaning: string, name: LimitName) => T): Readonly<Record<LimitName, T>> =>
  Object.fromEntries(limitNames.map(name => [name, make(limits[name], name)])) as Record<LimitName, T> // of all names
