/**
 * A data plane, portable or native. It knows ports, names, targets and filters; never users or clients.
 * Values are plain data; no JavaScript of ours runs on a native data path, except to answer 'resolve'.
 */
export interface Engine {
  /** Binds and listens; resolves once traffic is accepted. All ports or none. Rejects with an EngineFault. */
  open(rule: EngineRule): Promise<void>
  /**
   * Resolves when the port is shut. What lives goes on for `drainMs` and is then reset; 0 cuts at once.
   * When the last connection has ended the event `closed` brings the final counters.
   */
  close(ruleId: number, drainMs: number): Promise<void>
  /** Replaces the filters of a running rule; connections that they no longer allow are reset. */
  filter(ruleId: number, filters: Filters): void
  /** Answers a 'resolve' event: the addresses in the order of the answer, or why there are none. */
  resolved(token: number, answer: Resolved): void
  /** A copy of all counters, cumulative since `open`. */
  sample(): readonly Counters[]
  /** Cuts everything, joins the threads. Idempotent. */
  stop(): Promise<void>
}

export interface EngineRule extends Filters {
  readonly id: number // dense, chosen by the agent, never used again
  readonly protocol: 'tcp'
  readonly from: number
  readonly to: number // same as `from` unless a range: port p goes to target.port + (p - from)
  readonly targets: readonly EngineTarget[] // failover order
  readonly preferIpv6: boolean
  readonly idleMs: number // both directions silent for this long: reset; 0 is never
}

export interface EngineTarget {
  readonly host: string // address, or DNS name asked for by 'resolve'
  readonly port: number
}

export interface Filters {
  readonly source: Filter | null // judged at accept, on the caller's address and port
  readonly target: readonly Filter[] // judged at every dial, on the address used and the name as written; all must allow
}

/** `allow` null: everything that is not denied. A deny wins. */
export interface Filter {
  readonly allow: readonly Match[] | null
  readonly deny: readonly Match[]
  readonly refusal: string // the reason under which a refusal is counted: 'denied_by_agent'
}

export interface Match {
  readonly cidr?: string // '10.0.0.0/8', 'fd00::/8', a bare address is a prefix of full length
  readonly host?: string // a DNS name as written in the rule, lower-case
  readonly ports?: readonly [from: number, to: number]
}

export type Resolved =
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly reason: 'nxdomain' | 'servfail' | 'timeout' | 'no_address' | 'overloaded' }

/** Payload bytes that were delivered: in = written to the target, out = written to the caller. */
export interface Counters {
  readonly ruleId: number
  readonly ports: readonly PortCounters[]
  readonly targets: readonly TargetCounters[] // as many as the rule has, in its order
  readonly connectionsTotal: number
  readonly dnsFailures: number
  readonly targetFailovers: number
  /** Connections, by the one reason that ended them: a filter's refusal, 'loop' (an own listener), 'descriptors'. */
  readonly rejected: Readonly<Record<string, number>>
}
export interface PortCounters {
  readonly port: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly active: number // connections now; 0 after `closed`
}
export interface TargetCounters {
  readonly bytesIn: number
  readonly bytesOut: number
  readonly connectionsTotal: number
}

/** `resolve` and `closed` are delivered for certain; others may be dropped under load, and are counted when they are. */
export type EngineEvent =
  | { readonly kind: 'resolve'; readonly token: number; readonly ruleId: number; readonly host: string }
  | { readonly kind: 'closed'; readonly counters: Counters }
  | { readonly kind: 'dns-failed'; readonly ruleId: number; readonly host: string; readonly reason: string }

export type EngineFault = Error & {
  readonly code: 'EADDRINUSE' | 'EACCES' | 'EINVAL' | 'EMFILE' | 'ESTOPPED'
}

export interface EngineOptions {
  /** Local addresses that every listener binds: ['0.0.0.0', '::'] for all of both families. */
  readonly bind: readonly string[]
  readonly onEvents: (batch: readonly EngineEvent[]) => void
}
