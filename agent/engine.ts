/**
 * A data plane, portable or native. It knows ports, names, targets, filters and meters; never users or quotas.
 * Values are plain data; no JavaScript of ours runs on a native data path, except to answer 'resolve'.
 */
export interface Engine {
  /**
   * Binds and listens; resolves once traffic is accepted. All ports or none. Rejects with an EngineFault: EADDRINUSE
   * also for a name that the port has, and for a plain rule beside names; EINVAL also for a meter that is not there.
   */
  open(rule: EngineRule): Promise<void>
  /**
   * Resolves when the port is shut (or the name off it). What lives goes on for `drainMs` and is then reset; 0 cuts
   * at once; flows are cut in any case. When the last has ended the event `closed` brings the final counters.
   */
  close(ruleId: number, drainMs: number): Promise<void>
  /** Replaces the filters of a running rule; connections and flows that they no longer allow are reset. */
  setFilters(ruleId: number, filters: Filters): void
  /** Makes a meter or replaces its limits, for live connections too. Totals, budget and what is in it stay. */
  setMeter(id: number, meter: Meter): void
  /** Sets or lifts (null) the mark. What was held and still lives goes on when there is room again. */
  setBudget(meterId: number, budget: Budget | null): void
  /** Forgets a meter that no rule passes any more. */
  removeMeter(id: number): void
  /** Answers a 'resolve' event: the addresses in the order of the answer, or why there are none. */
  resolved(token: number, answer: Resolved): void
  /** A copy of all counters, cumulative since `open`. */
  sample(): Sample
  /** Cuts everything, joins the threads. Idempotent. */
  stop(): Promise<void>
}

export interface EngineRule extends Filters {
  readonly id: number // dense, chosen by the agent, never used again
  readonly protocol: 'tcp' | 'udp'
  readonly from: number
  readonly to: number // same as `from` unless a range: port p goes to target.port + (p - from)
  /** TCP, one port: names share a listener. Lower-case, exact or '*.example.org' (one label); exact beats wildcard. */
  readonly name: string | null
  /** The nameless rule that takes what misses all names of its port (or is no TLS); else it takes a port alone. */
  readonly fallback: boolean
  readonly targets: readonly EngineTarget[] // failover order
  readonly preferIpv6: boolean
  readonly probeMs: number // every target is probed by a connect (a range: its first port) this often; 0 is never
  readonly meters: readonly number[] // traffic passes all of them, in this order
  /** TCP: both directions silent for this long: reset; 0 is never. UDP: a flow ends after it. */
  readonly idleMs: number
  readonly flowCap: number // UDP: flows at once, over all ports of the rule
}

export interface EngineTarget {
  readonly host: string // address, or DNS name asked for by 'resolve'
  readonly port: number
}

/** A gate that traffic passes; what is null is unlimited. A UDP flow is a connection. */
export interface Meter {
  /** Payload bytes a second. Delays TCP, drops datagrams. In: towards the target. Never with `budget`'s hold. */
  readonly bytesIn: Rate | null
  readonly bytesOut: Rate | null
  readonly connections: number | null // at once
  readonly newConnections: Rate | null
  /** The reasons under which `Counters.rejected` counts refused connections, and datagrams for `bytes`. */
  readonly refusals: Readonly<Record<'connections' | 'newConnections' | 'bytes' | 'budget', string>>
}

/** Token bucket: in t seconds at most perSec * t + burst. It begins full; one that is changed keeps what fits. */
export interface Rate {
  readonly perSec: number
  readonly burst: number
}

/**
 * The total (in and out) that the meter may reach, compared at that instant. Bytes are reserved before they are read
 * and given back when they were not delivered. At the mark: live connections are held, neither side read, and reset
 * after `holdMs`; new ones are refused with RST; datagrams are dropped.
 */
export interface Budget {
  readonly mark: number // bytes, of MeterCounters bytesIn + bytesOut
  readonly holdMs: number
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

export interface Sample {
  readonly rules: readonly Counters[]
  readonly meters: readonly MeterCounters[]
  /** TLS names awaited, since the engine began: how many took at most each of `peekBoundsMs`, the last without bound. */
  readonly peekDurations: { readonly counts: readonly number[]; readonly sumMs: number }
  readonly eventsDropped: number // advisory ones, since the engine began
}

/** Upper bounds of the buckets of `Sample.peeks.counts`, which has one more; counts are not cumulative over buckets. */
export const peekBoundsMs = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2000, 3000] as const

/** Payload bytes that were delivered: in = written to the target, out = written to the caller. */
export interface Counters {
  readonly ruleId: number
  readonly ports: readonly PortCounters[]
  readonly targets: readonly TargetCounters[] // as many as the rule has, in its order
  readonly connectionsTotal: number // flows, too
  readonly dnsFailures: number
  readonly targetFailovers: number // connections and flows that were given to another target than the first dialled
  readonly flowsDroppedOverflow: number
  /** Connections, by the one reason that ended them: a filter's or a meter's refusal, 'loop' (an own listener),
   * 'descriptors', 'sni_miss', 'sni_timeout', 'sni_overflow' (whoever reaches no rule is counted by the fallback of the
   * port, or its longest open rule). Datagrams for a meter's `bytes` and `budget`. */
  readonly rejected: Readonly<Record<string, number>>
}
export interface PortCounters {
  readonly port: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly datagramsIn: number
  readonly datagramsOut: number
  readonly active: number // connections or flows now; 0 after `closed`
}
export interface TargetCounters {
  readonly bytesIn: number
  readonly bytesOut: number
  readonly connectionsTotal: number
  readonly health: Health
  readonly consecutiveFailures: number
  readonly lastFailureAt: number | null // ms since 1970
  readonly lastSuccessAt: number | null
}
export type Health = 'healthy' | 'failed' | 'unknown'

export interface MeterCounters {
  readonly id: number
  readonly bytesIn: number // delivered, since the meter was made
  readonly bytesOut: number
  readonly active: number // connections and flows in it now
  readonly throttledMs: number // connections' time in wait for `bytesIn` and `bytesOut`, summed
}

/**
 * `resolve`, `closed`, `target-health` and `meter-empty` are delivered for certain; others may be dropped under load,
 * and are counted when they are.
 */
export type EngineEvent =
  | { readonly kind: 'resolve'; readonly token: number; readonly ruleId: number; readonly host: string }
  | { readonly kind: 'closed'; readonly counters: Counters }
  | { readonly kind: 'dns-failed'; readonly ruleId: number; readonly host: string; readonly reason: string }
  | {
      readonly kind: 'flow-evicted'
      readonly ruleId: number
      readonly target: number
      readonly errno: string
    }
  | {
      readonly kind: 'target-health'
      readonly ruleId: number
      readonly target: number // its index
      readonly from: Health
      readonly to: Health
      readonly reason: string // 'refused', 'timeout', 'unreachable', 'reset', a DNS reason; of a recovery 'connected'
    }
  | { readonly kind: 'meter-empty'; readonly meterId: number } // its budget is spent: once each time
  | { readonly kind: 'splice-selected'; readonly ruleId: number } // once a rule
  | { readonly kind: 'splice-unsupported'; readonly ruleId: number; readonly errno: string }
  | {
      readonly kind: 'pipe-size' // once a thread, at most
      readonly requestedBytes: number
      readonly actualBytes: number
      readonly errno: string
    }

export type EngineFault = Error & {
  readonly code: 'EADDRINUSE' | 'EACCES' | 'EINVAL' | 'EMFILE' | 'ESTOPPED'
}

export interface EngineOptions {
  /** Local addresses that every listener binds: ['0.0.0.0', '::'] for all of both families. */
  readonly bind: readonly string[]
  readonly onEvents: (batch: readonly EngineEvent[]) => void
  /** Of a native engine; default: one a core, 1 to 4. */
  readonly threads?: number
  /** 'off': no kernel zero-copy path. */
  readonly splice?: 'on' | 'off'
}
