import type { Duplex } from 'node:stream'
import type { Balance } from './balance.ts'
import type { DialFrom } from './dial-from.ts'
import type { DialAnswer, DialCanceled, DialRequest } from './dial-request.ts'
import type { Divert, DivertCounters } from './divert.ts'
import type { EndedConnection } from './ended-connection.ts'
import type { EngineTarget } from './engine-target.ts'
import type { FirstRead } from './first-read.ts'
import type { ConnectionQuery, ConnectionSelection, OpenConnections } from './open-connection.ts'
import type { Preamble } from './preamble.ts'
import type { AddressGuard, ReplyCap, SourceLimit } from './source-guard.ts'

export type { EngineTarget } from './engine-target.ts'

/**
 * A data plane: the native engine (C++, Linux) or the portable one (Node). It knows ports, TLS names, targets, filters
 * and meters. Users, quotas and grants belong to the agent. All values are plain data. The native engine moves bytes on
 * separate threads and needs JavaScript only to resolve names, and for targets with a dialer.
 */
export interface Engine {
  /**
   * Binds all ports of the rule and listens. Resolves when connections are accepted. Rules that open in one turn of the
   * event loop come into force together: no caller of a shared port meets only some of them. Rejects with an EngineFault
   * and leaves no port open. EADDRINUSE: the port, the name or the fallback is taken, or the port has names and the rule
   * has neither a name nor the fallback. EINVAL: the rule is invalid, or a meter is unknown.
   *
   * `replaces` is an open rule of the same protocol, which the agent closes next. The new rule takes over the sockets of
   * the ports and the name that both have, and the callers that wait there: none is refused. Live connections and flows
   * stay with the old rule and its targets. Targets of both rules keep their health. A rejection leaves the old rule as
   * it was.
   */
  open(rule: EngineRule, replaces?: number): Promise<void>
  /**
   * Stops listening, or removes the rule's name from its port. Resolves when done. Connections are reset after
   * `drainMs`; 0: at once; null: never. A UDP flow ends at once with its socket, unless another rule has taken the socket
   * over. A second call can only bring the reset forward. When the last connection has ended, the event 'closed' has the
   * final counters.
   */
  close(ruleId: number, drainMs: number | null): Promise<void>
  /** Resets the connections and flows of a rule, open or closed, to these targets: indices in `EngineRule.targets`. */
  resetTargets(ruleId: number, targets: readonly number[]): void
  /** Resets the connections and flows of a rule, open or closed, except those of the listen ports in `keep`. */
  reset(ruleId: number, keep: Pick<EngineRule, 'from' | 'to'> | null): void
  /** Replaces the filters of an open rule. Resets the connections and flows that they do not allow. */
  setFilters(ruleId: number, filters: Filters): void
  /**
   * Changes a named set of addresses and prefixes. Guards of rules refer to sets by name; a new set is empty. Guards with
   * `live: 'reset'` reset what they no longer allow. An invalid prefix throws EINVAL and changes nothing.
   */
  changeAddresses(name: string, change: AddressChange): void
  /** Returns the reason of the guard that refuses a new caller with this address; null: none does. */
  guardRefusal(ruleId: number, address: string): string | null
  /** Returns the name of the divert that takes a new caller with this address; null: none. */
  divertOf(ruleId: number, address: string): string | null
  /** Returns a page of the open connections and flows. Throws EINVAL for an invalid prefix or address. */
  connections(query: ConnectionQuery): OpenConnections
  /** Resets the selected connections and flows; returns their number. Throws EINVAL like `connections`. */
  endConnections(selection: ConnectionSelection): number
  /**
   * Reserves a descriptor for a dial that the agent makes for an owner, within its equal share. Its rules can be closed.
   * Returns the function that releases it, to be called once; null: none is left.
   */
  reserveDescriptor(owner: string): (() => void) | null
  /** Replaces the weights of a rule with `balance`, for new connections and flows. */
  setWeights(ruleId: number, weights: readonly number[]): void
  /** Replaces `EngineRule.shares` of a rule with `balance`, for new connections and flows. */
  setShares(ruleId: number, shares: readonly number[]): void
  /** Creates a meter, or replaces its limits, also for live connections. Does not change its counters and its budget. */
  setMeter(id: number, meter: Meter): void
  /** Sets the budget of a meter; null removes it. Connections paused at the old mark continue below the new one. */
  setBudget(meterId: number, budget: Budget | null): void
  /** Deletes a meter that no rule uses. */
  removeMeter(id: number): void
  /** Answers a 'resolve' event. */
  resolved(token: number, answer: Resolved): void
  /**
   * Answers a 'dial' event. Returns the target's end of the connection, which the caller of this method owns; null: it is
   * not needed, since nobody waits for it or the dial was a probe.
   *
   * The stream stands for the target: its bytes go to the caller, and `end` is the target's FIN. Destroying it before its
   * end has finished is the target's RST: the caller gets the bytes before it, then RST. The caller's RST, and a reset by
   * the engine, are an error ECONNRESET after the caller's bytes. Everything else, such as meters, idle time and records,
   * is as for a dialed target. Bytes count as delivered when the stream has accepted them.
   */
  dialed(token: number, answer: DialAnswer): Promise<Duplex | null>
  /** Returns a copy of all counters. They start at 0 when a rule opens or a meter is created. */
  sample(): Sample
  /** Resets all connections and ends the engine's threads. A second call has no effect. */
  stop(): Promise<void>
}

export interface EngineRule extends Filters {
  readonly id: number // counts up from 1; never reused
  /**
   * Rules of one owner have one share of the descriptors that the engine may open. An owner can use free ones beyond its
   * equal share. When three quarters are in use, it is refused more ('owner_share'), and owners below their share are
   * served: the engine then ends connections and flows of the owner that has the most. Health probes, and dials of
   * several addresses at once, use no descriptor beyond the equal share.
   */
  readonly owner: string
  readonly protocol: 'tcp' | 'udp'
  readonly from: number // first listen port
  readonly to: number // last listen port; connections to port p go to target.port + (p - from)
  /**
   * TLS server name, lower-case: exact, or '*.example.org' for one label. Rules with names share a TCP port. An exact
   * name takes precedence over a wildcard. null: the rule has the port alone, or is its fallback.
   */
  readonly name: string | null
  /**
   * Takes connections that match no name or are not TLS, and callers that have sent no whole ClientHello after 3 s or at
   * their FIN. A fallback that is alone on its port takes all.
   */
  readonly fallback: boolean
  readonly targets: readonly EngineTarget[] // in order of priority
  /**
   * Judged for a caller that filters and source limits allow, before the meters. The first divert with the caller's address
   * in a set takes it.
   */
  readonly diverts: readonly Divert[]
  readonly balance: Balance | null // null: targets are dialed in order of priority
  /**
   * For a rule with `balance`, by target: the share of its weight that applies now, 0 to 1. A target with 0 is ejected: it
   * is dialed only if no other target is left, after the next tier. Default: 1 for each.
   */
  readonly shares?: readonly number[]
  readonly preferIpv6: boolean
  readonly dialFrom: DialFrom | null // null: the system chooses
  /**
   * The interval of connect probes to each target, of a range to its first port; 0: none. A probe without a descriptor, or
   * beyond 256 of its owner, begins up to an interval later.
   */
  readonly probeMs: number
  readonly meters: readonly number[] // ids of the meters that all its traffic passes, in this order
  /** A TCP connection without traffic in either direction for this long is reset, a UDP flow ends; 0: never. */
  readonly idleMs: number
  /**
   * UDP: when the caller sends and the target has not answered for this long, the flow is dialed again, and not before the
   * same time has passed again: at an address that the target's name has got since, else at the next target, else at another
   * address of the name. Without any of these it keeps its socket. 0: never.
   */
  readonly unansweredMs: number
  readonly flowCap: number // UDP: the most flows at once, over all ports of the rule
  /** Reports a record of each ended connection and flow in 'connections-ended' events. */
  readonly reportEnds: boolean
  /** The header before each caller's bytes; null: none. Rules that share a port must have the same. */
  readonly firstRead: FirstRead | null
  readonly preamble: Preamble | null // null: the target gets only the caller's bytes
  readonly replyCap: ReplyCap | null // UDP; null: replies are not capped
}

/** Limits for the traffic of one or more rules. null is unlimited. A UDP flow counts as a connection. */
export interface Meter {
  readonly bytesIn: Rate | null // payload from caller to target; above the rate TCP waits, datagrams are dropped
  readonly bytesOut: Rate | null // payload from target to caller
  readonly connections: number | null // at once
  readonly newConnections: Rate | null
  /**
   * The reasons under which `Counters.rejected` counts the refusals of each limit. 'bytes' counts datagrams, 'budget'
   * connections and datagrams, the others connections.
   */
  readonly refusals: Readonly<Record<'connections' | 'newConnections' | 'bytes' | 'budget', string>>
}

/** A token bucket: at most perSec * t + burst in t seconds. It starts full; a change keeps the tokens that fit. */
export interface Rate {
  readonly perSec: number
  readonly burst: number
}

/**
 * Limits the total bytes of a meter. Bytes are reserved before they are read; undelivered bytes are returned. At the mark
 * live connections pause: neither side is read, and after `holdMs` they are reset. New connections are refused with RST,
 * and datagrams are dropped.
 */
export interface Budget {
  readonly mark: number // the budget is spent when `bytesIn` + `bytesOut` of MeterCounters reach it
  readonly holdMs: number
}

export interface Filters {
  readonly source: Filter | null // checks the caller's address and port when a connection is accepted
  readonly target: readonly Filter[] // check the address and the configured host of every dial by the engine; all must allow it
  readonly addressGuards: readonly AddressGuard[] // checked after `source`; the first that refuses counts
  readonly sourceLimits: readonly SourceLimit[] // checked last, in this order
}

export interface AddressChange {
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

/**
 * A deny match takes precedence over an allow match. An IPv6 address that a translator or tunnel turns into an IPv4 address
 * (NAT64, 6to4, SIIT, Teredo) passes only if both addresses do; the same holds for an AddressGuard.
 */
export interface Filter {
  readonly allow: readonly Match[] | null // null: all that are not denied
  readonly deny: readonly Match[]
  readonly refusal: string // reason under which `Counters.rejected` counts refusals: 'denied_by_agent'
}

/** All given members must match. */
export interface Match {
  readonly cidr?: string // '10.0.0.0/8', 'fd00::/8'; an address without a length matches itself
  readonly host?: string // DNS name as configured in the rule, lower-case
  readonly ports?: readonly [from: number, to: number]
  readonly isOwn?: boolean // true: only addresses of this machine, at the time of the dial
}

/**
 * Addresses in the order of the DNS answer, or the reason of a failure. The engine dials a cached answer for `usableMs`
 * without waiting; the first dial after `freshMs` asks again. Without both, each dial asks and waits.
 */
export type Resolved = { readonly freshMs?: number; readonly usableMs?: number } & (
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly reason: 'nxdomain' | 'servfail' | 'timeout' | 'no_address' | 'overloaded' }
)

export interface Sample {
  readonly rules: readonly Counters[]
  readonly meters: readonly MeterCounters[]
  /**
   * Histogram of the time until the TLS name of a connection was known, since the engine's start. `counts` has one element
   * for each of `peekBoundsMs` and one above the last. It is not cumulative.
   */
  readonly peekDurations: { readonly counts: readonly number[]; readonly sumMs: number }
  readonly eventsDropped: number // advisory events, since the engine's start
}

/** Upper bounds of the buckets of `Sample.peekDurations`, in milliseconds. */
export const peekBoundsMs = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2000, 3000] as const

/**
 * Counters of a rule. Bytes are delivered payload: in = written to the target, out = written to the caller. The newest
 * datagrams of a flow to its target are counted up to half a second later, unless an ICMP error arrives first.
 */
export interface Counters {
  readonly ruleId: number
  readonly ports: readonly PortCounters[]
  readonly targets: readonly TargetCounters[] // in the order of the rule's targets
  readonly diverts: readonly DivertCounters[] // in the order of the rule's diverts
  readonly connectionsTotal: number // connections and flows
  readonly dnsFailures: number
  /** Connections and flows that connected after another target had failed, and flows that were dialed again. */
  readonly targetFailovers: number
  readonly flowsDroppedOverflow: number // datagrams without a flow at `flowCap`
  /**
   * Refused connections and datagrams by reason. A connection has one reason: that of a filter, a divert, a meter or
   * `firstRead`,
   * 'loop' (the target is a listener of this engine), 'no_target' (no target connected), 'sni_miss', 'sni_timeout' or
   * 'sni_overflow'. 'owner_share': see `EngineRule.owner`. If this host lacks something: 'descriptors', 'no_memory', or
   * 'no_local_port' (all local ports to the target are in use or in TIME_WAIT). A connection that matches no rule counts
   * for the fallback of its port, else for the rule that opened first. Datagrams also have 'datagram_too_large' (for the
   * other side, or with its preamble), 'datagram_unsent' (the system did not accept it) and 'pending_overflow' (too many
   * before the target was connected).
   */
  readonly rejected: Readonly<Record<string, number>>
}

export interface PortCounters {
  readonly port: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly datagramsIn: number
  readonly datagramsOut: number
  readonly active: number // open connections or flows; 0 after 'closed'
}

export interface TargetCounters {
  readonly bytesIn: number
  readonly bytesOut: number
  readonly connectionsTotal: number
  readonly active: number // open and connecting connections and flows
  readonly health: Health
  readonly consecutiveFailures: number
  readonly failures: number // dials, probes and ICMP errors; like the health it continues from the rule it `replaces`
  readonly connects: number // TCP: dials and probes that connected
  readonly connectMs: number // sum of their times, without DNS
  readonly lastFailureAt: number | null // ms since 1970
  readonly lastSuccessAt: number | null // ms since 1970
  readonly lastFailure: string | null // its reason, as in 'target-health'; 'dns_' precedes a reason of Resolved
  readonly lastSource: HealthSource // of the last attempt that succeeded or failed
}

export type Health = 'healthy' | 'failed' | 'unknown'

/** The cause of an attempt: a caller or a health check. */
export type HealthSource = 'traffic' | 'probe'

export interface MeterCounters {
  readonly id: number
  readonly bytesIn: number // delivered, as in Counters
  readonly bytesOut: number
  readonly active: number // open connections and flows
  readonly throttledMs: number // sum of the times that connections waited for `bytesIn` and `bytesOut`
}

/**
 * Events of the engine. 'resolve', 'dial', 'dial-canceled', 'closed', 'target-health' and 'meter-empty' are always delivered. 'connections-ended'
 * counts the records that it drops. The others are advisory: they can be dropped under load, see `Sample.eventsDropped`.
 * An engine reports 'dns-failed' as often as a log needs it: callers can cause thousands per second.
 */
export type EngineEvent =
  | { readonly kind: 'resolve'; readonly token: number; readonly ruleId: number; readonly host: string }
  | DialRequest
  | DialCanceled
  | { readonly kind: 'closed'; readonly counters: Counters }
  | { readonly kind: 'dns-failed'; readonly ruleId: number; readonly host: string; readonly reason: string }
  | {
      readonly kind: 'flow-evicted' // the target's host sent an ICMP error
      readonly ruleId: number
      readonly target: number // index in EngineRule.targets
      readonly errno: string
    }
  | {
      readonly kind: 'flow-redialed' // see `EngineRule.unansweredMs`; a few a second for each rule
      readonly ruleId: number
      readonly from: number // index in EngineRule.targets
      readonly to: number
      readonly addresses: readonly [from: string, to: string]
    }
  | {
      readonly kind: 'target-health'
      readonly ruleId: number
      readonly target: number
      readonly from: Health
      readonly to: Health
      /** 'connected', 'refused', 'timeout', 'unreachable', 'reset', 'no_answer', 'source_unavailable', or a reason of Resolved. */
      readonly reason: string
    }
  | { readonly kind: 'meter-empty'; readonly meterId: number } // each time a budget is spent
  | {
      readonly kind: 'connections-ended' // for rules with `reportEnds`, before their 'closed'
      readonly ended: readonly EndedConnection[]
      readonly lost: number // records dropped since the last such event
    }
  | {
      readonly kind: 'source-over' // of limits without a refusal; at most one a second for each source
      readonly ruleId: number
      readonly source: string // '192.0.2.7', '2001:db8::/64'
      readonly limit: string // name of the limit
    }
  | { readonly kind: 'splice-selected'; readonly ruleId: number } // once for each rule
  | { readonly kind: 'splice-unsupported'; readonly ruleId: number; readonly errno: string }
  | {
      readonly kind: 'pipe-size' // the system refuses a larger pipe; at most one a minute for each thread
      readonly requestedBytes: number
      readonly actualBytes: number // below 64 KiB the pipe is not used: bytes are copied
      readonly errno: string
      readonly limit: string // the system setting that refuses it: 'fs.pipe-user-pages-soft'
    }

export interface EngineOptions {
  /** Local addresses on which rules listen: ['0.0.0.0', '::'] for all addresses of both families. */
  readonly bind: readonly string[]
  readonly onEvents: (batch: readonly EngineEvent[]) => void
  /** Threads of the native engine; default: one for each core, 1 to 4. */
  readonly threads?: number
  /** 'off': bytes are copied through user space instead of spliced. */
  readonly splice?: 'on' | 'off'
  /**
   * A TCP peer that acknowledges nothing for this long, while data to it is under way, has failed: its connection ends as
   * after an RST from it. A peer that answers window probes is alive, even if it does not read. Default:
   * `defaultDeadPeerMs`; 0: never.
   */
  readonly deadPeerMs?: number
}

export const defaultDeadPeerMs = 120_000
