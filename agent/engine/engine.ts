import type { Balance } from './balance.ts'
import type { EndedConnection } from './ended-connection.ts'
import type { FirstRead } from './first-read.ts'
import type { ConnectionQuery, ConnectionSelection, OpenConnections } from './open-connection.ts'
import type { Preamble } from './preamble.ts'
import type { AddressGuard, ReplyCap, SourceLimit } from './source-guard.ts'

/**
 * A data plane: the native engine (C++, Linux) or the portable one (Node). It knows ports, TLS names, targets, filters
 * and meters; users, quotas and grants belong to the agent. All values are plain data. The native engine moves bytes on
 * threads of its own and needs JavaScript only to resolve names.
 */
export interface Engine {
  /**
   * Binds all ports of the rule and listens; resolves when connections are accepted. Rules that are opened in one turn of
   * the event loop come into force together: no caller of a shared port meets only some of them. Rejects with an EngineFault and
   * leaves no port open: EADDRINUSE also for a name or fallback that is taken, or a rule with neither on a port of
   * names; EINVAL also for an unknown meter.
   *
   * `replaces` is an open rule of the same protocol, which the caller closes next. Of the ports and the name that both
   * have, the new rule takes over the sockets with the callers who wait there: none is refused. Live connections and
   * flows stay with the old rule and its targets. Targets that both have keep their health. After a rejection the old
   * rule is as it was.
   */
  open(rule: EngineRule, replaces?: number): Promise<void>
  /**
   * Stops listening, or takes the rule's name off its port; resolves when done. Connections may continue for `drainMs`
   * milliseconds and are then reset; 0 resets them at once; with `null` they end by themselves. A UDP flow ends with its
   * socket, at once, unless another rule has taken that over. A second call can only bring the reset forward. When the
   * last connection has ended, the event 'closed' brings the final counters.
   */
  close(ruleId: number, drainMs: number | null): Promise<void>
  /** Resets the connections and flows of a rule, open or closed, to these targets: indices in `EngineRule.targets`. */
  resetTargets(ruleId: number, targets: readonly number[]): void
  /** Resets the connections and flows of a rule, open or closed, but those of the listen ports in `keep`. */
  reset(ruleId: number, keep: Pick<EngineRule, 'from' | 'to'> | null): void
  /** Replaces the filters of an open rule and resets the connections and flows that they do not allow. */
  setFilters(ruleId: number, filters: Filters): void
  /**
   * Changes a named set of addresses and prefixes that guards of rules name; one that was never changed is empty. Guards
   * judge by it from then on, and those with `live: 'reset'` end what they no longer allow. Throws EINVAL, and changes
   * nothing, for an invalid prefix.
   */
  changeAddresses(name: string, change: AddressChange): void
  /** Returns a page of what is open now, and the size of the selection. Throws EINVAL for an invalid prefix or address. */
  connections(query: ConnectionQuery): OpenConnections
  /** Resets what is selected; returns how many. Throws EINVAL as `connections`. */
  endConnections(selection: ConnectionSelection): number
  /** Replaces the weights of a rule with `balance`, for connections and flows that begin later. */
  setWeights(ruleId: number, weights: readonly number[]): void
  /** Replaces `EngineRule.shares` of a rule with `balance`, for connections and flows that begin later. */
  setShares(ruleId: number, shares: readonly number[]): void
  /** Creates a meter, or replaces its limits, also for live connections. Its counters and its budget stay. */
  setMeter(id: number, meter: Meter): void
  /** Sets the budget of a meter; null removes it. Connections paused at the old mark continue below the new one. */
  setBudget(meterId: number, budget: Budget | null): void
  /** Deletes a meter that no rule uses any more. */
  removeMeter(id: number): void
  /** Answers a 'resolve' event. */
  resolved(token: number, answer: Resolved): void
  /** Returns a copy of all counters. They count from the `open` of a rule or the creation of a meter. */
  sample(): Sample
  /** Resets all connections and ends the engine's threads. A second call has no effect. */
  stop(): Promise<void>
}

export interface EngineRule extends Filters {
  readonly id: number // counts up from 1; the agent never uses one twice
  readonly protocol: 'tcp' | 'udp'
  readonly from: number // first listen port
  readonly to: number // last listen port; connections to port p go to target.port + (p - from)
  /**
   * TLS server name, lower-case: exact, or '*.example.org' for one label. Rules with names share a TCP port; an exact
   * name precedes a wildcard. null: the rule has the port alone, or is its fallback.
   */
  readonly name: string | null
  /** Takes the connections on a port of names that match none or are not TLS. On a port of its own it takes all. */
  readonly fallback: boolean
  readonly targets: readonly EngineTarget[] // failover order
  readonly balance: Balance | null // null: targets are dialed in failover order
  /**
   * Of a rule with `balance`, by target: the part of its weight that counts now, 0 to 1. A target with 0 is ejected: it is
   * dialed when no other is left, as failed ones are, and the next tier precedes it. Default: 1 for each.
   */
  readonly shares?: readonly number[]
  readonly preferIpv6: boolean
  readonly dialFrom: DialFrom | null // null: the system chooses
  readonly probeMs: number // interval of connect probes to each target (of a range: to its first port); 0: none
  readonly meters: readonly number[] // ids of the meters of all its traffic, in this order
  /** TCP: a connection without traffic in both directions for this long is reset; 0: never. UDP: the flow ends. */
  readonly idleMs: number
  readonly flowCap: number // UDP: most flows at once, over all ports of the rule
  /** Asks for a record of each ended connection and flow, in 'connections-ended' events. */
  readonly reportEnds: boolean
  /** What each caller's bytes begin with; null: nothing. Equal in all rules that share a port. */
  readonly firstRead: FirstRead | null
  readonly preamble: Preamble | null // null: the target gets the caller's bytes alone
  readonly replyCap: ReplyCap | null // UDP; null: replies are not capped
}

export interface EngineTarget {
  readonly host: string // an address, or a DNS name, which is resolved by a 'resolve' event
  readonly port: number
}

/**
 * The local addresses from which targets are dialed and probed, by the family of the target's address. null: the system
 * chooses. Where the host does not have the address, each dial fails with 'source_unavailable'.
 */
export interface DialFrom {
  readonly ipv4: string | null
  readonly ipv6: string | null
}

/** Limits for the traffic of one or more rules. null is unlimited. A UDP flow counts as a connection. */
export interface Meter {
  readonly bytesIn: Rate | null // payload towards the target; TCP above the rate waits, datagrams are dropped
  readonly bytesOut: Rate | null // payload towards the caller
  readonly connections: number | null // at once
  readonly newConnections: Rate | null
  /**
   * The reasons under which `Counters.rejected` counts refusals by each limit: of connections, and for 'bytes' and
   * 'budget' of datagrams.
   */
  readonly refusals: Readonly<Record<'connections' | 'newConnections' | 'bytes' | 'budget', string>>
}

/** A token bucket: at most perSec * t + burst in t seconds. It begins full; a change keeps the tokens that still fit. */
export interface Rate {
  readonly perSec: number
  readonly burst: number
}

/**
 * The bytes that a meter may still let through. Bytes are reserved before they are read; what is not delivered is given
 * back. At the mark live connections pause: neither side is read, and after `holdMs` they are reset. New connections are
 * refused with RST, and datagrams are dropped.
 */
export interface Budget {
  readonly mark: number // total bytes: `bytesIn` + `bytesOut` of MeterCounters at which the budget is spent
  readonly holdMs: number
}

export interface Filters {
  readonly source: Filter | null // checks the caller's address and port when a connection is accepted
  readonly target: readonly Filter[] // check the address and the configured host of every dial; all must allow it
  readonly addressGuards: readonly AddressGuard[] // behind `source`; the first that refuses counts
  readonly sourceLimits: readonly SourceLimit[] // judged last, in this order
}

export interface AddressChange {
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

/** A deny match precedes an allow match. */
export interface Filter {
  readonly allow: readonly Match[] | null // null: everything that is not denied
  readonly deny: readonly Match[]
  readonly refusal: string // reason under which `Counters.rejected` counts refusals: 'denied_by_agent'
}

/** All members that are given must match. */
export interface Match {
  readonly cidr?: string // '10.0.0.0/8', 'fd00::/8'; an address without a length matches itself
  readonly host?: string // DNS name as configured in the rule, lower-case
  readonly ports?: readonly [from: number, to: number]
}

/**
 * Addresses in the order of the DNS answer, or why there are none. The engine dials what it knows for `usableMs` without
 * waiting, and asks again after `freshMs`, when it next dials. Without both it asks at each dial, and waits.
 */
export type Resolved = { readonly freshMs?: number; readonly usableMs?: number } & (
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly reason: 'nxdomain' | 'servfail' | 'timeout' | 'no_address' | 'overloaded' }
)

export interface Sample {
  readonly rules: readonly Counters[]
  readonly meters: readonly MeterCounters[]
  /**
   * Histogram of the time that connections waited until their TLS name was known, since the engine's start. `counts` has
   * one element for each of `peekBoundsMs` and one above the last; it is not cumulative.
   */
  readonly peekDurations: { readonly counts: readonly number[]; readonly sumMs: number }
  readonly eventsDropped: number // advisory events, since the engine's start
}

/** Upper bounds of the buckets of `Sample.peekDurations`, in milliseconds. */
export const peekBoundsMs = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2000, 3000] as const

/**
 * Counters of a rule. Bytes are delivered payload: in = written to the target, out = written to the caller. The datagrams
 * of a flow's newest call to its target count up to half a second later: not if an ICMP error comes before.
 */
export interface Counters {
  readonly ruleId: number
  readonly ports: readonly PortCounters[]
  readonly targets: readonly TargetCounters[] // in the order of the rule's targets
  readonly connectionsTotal: number // connections and flows
  readonly dnsFailures: number
  readonly targetFailovers: number // connections and flows for which a dial of another target failed before
  readonly flowsDroppedOverflow: number // datagrams without a flow at `flowCap`
  /**
   * Refused connections by reason, one for each: the reason of a filter or a meter, of `firstRead`, 'loop' (the target is
   * a listener of this engine), 'no_target' (none could be connected), 'sni_miss', 'sni_timeout', 'sni_overflow'; for a lack
   * of this host 'descriptors', 'no_memory', and 'no_local_port': all towards the target are in use or in TIME_WAIT. A
   * connection that reaches no rule counts for the fallback of its port, or else for the rule that is open longest. Also
   * datagrams that these refused, and 'datagram_too_large' (it does not fit behind its preamble), 'datagram_unsent' (the
   * system did not take it), 'pending_overflow' (too many while the target was looked for).
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
  readonly active: number // open connections and flows, and those that are being connected
  readonly health: Health
  readonly consecutiveFailures: number
  readonly failures: number // dials and probes, and replies by ICMP; like the health also those of the rule it `replaces`
  readonly connects: number // TCP: dials and probes that connected
  readonly connectMs: number // the time that they took, summed; without the look-up of the name
  readonly lastFailureAt: number | null // ms since 1970
  readonly lastSuccessAt: number | null // ms since 1970
}

export type Health = 'healthy' | 'failed' | 'unknown'

export interface MeterCounters {
  readonly id: number
  readonly bytesIn: number // delivered, as in Counters
  readonly bytesOut: number
  readonly active: number // open connections and flows
  readonly throttledMs: number // time that connections waited for `bytesIn` and `bytesOut`, summed
}

/**
 * Events of the engine. 'resolve', 'closed', 'target-health' and 'meter-empty' are always delivered; 'connections-ended'
 * counts what it drops. The others are advisory: they may be dropped under load, and `Sample.eventsDropped` counts them.
 */
export type EngineEvent =
  | { readonly kind: 'resolve'; readonly token: number; readonly ruleId: number; readonly host: string }
  | { readonly kind: 'closed'; readonly counters: Counters }
  | { readonly kind: 'dns-failed'; readonly ruleId: number; readonly host: string; readonly reason: string }
  | {
      readonly kind: 'flow-evicted' // the target's host answered with ICMP
      readonly ruleId: number
      readonly target: number // index in EngineRule.targets
      readonly errno: string
    }
  | {
      readonly kind: 'target-health'
      readonly ruleId: number
      readonly target: number
      readonly from: Health
      readonly to: Health
      /** 'connected', 'refused', 'timeout', 'unreachable', 'reset', 'source_unavailable', or a reason of Resolved. */
      readonly reason: string
    }
  | { readonly kind: 'meter-empty'; readonly meterId: number } // each time a budget is spent
  | {
      readonly kind: 'connections-ended' // of rules with `reportEnds`; those of a rule come before its 'closed'
      readonly ended: readonly EndedConnection[]
      readonly lost: number // records dropped since the last such event, because too many waited
    }
  | {
      readonly kind: 'source-over' // of limits that refuse nobody: at most once a second for each source
      readonly ruleId: number
      readonly source: string // '192.0.2.7', '2001:db8::/64'
      readonly limit: string // its name
    }
  | { readonly kind: 'splice-selected'; readonly ruleId: number } // once for each rule
  | { readonly kind: 'splice-unsupported'; readonly ruleId: number; readonly errno: string }
  | {
      readonly kind: 'pipe-size' // the kernel gave smaller pipes; at most once for each thread
      readonly requestedBytes: number
      readonly actualBytes: number
      readonly errno: string
    }

/** ESTOPPED: the engine has stopped. The other codes are those of the system call, or EINVAL for an invalid rule. */
export type EngineFault = Error & {
  readonly code: 'EADDRINUSE' | 'EACCES' | 'EINVAL' | 'EMFILE' | 'ESTOPPED'
}

export const engineFault = (
  code: EngineFault['code'],
  message: string,
  options?: ErrorOptions
): EngineFault => Object.assign(new Error(message, options), { code })

export interface EngineOptions {
  /** Local addresses on which rules listen: ['0.0.0.0', '::'] for all addresses of both families. */
  readonly bind: readonly string[]
  readonly onEvents: (batch: readonly EngineEvent[]) => void
  /** Threads of the native engine; default: one for each core, 1 to 4. */
  readonly threads?: number
  /** 'off': bytes are copied through user space instead of spliced. */
  readonly splice?: 'on' | 'off'
}
