// The contract of agent halves for rules, meters and the time. They import it from agent/plugin.ts.
import type { Static, TSchema } from 'typebox'
import type { Release } from '../../kernel/base/releases.ts'
import type { Message } from '../../kernel/wire/message.ts'
import type { Divert } from '../engine/divert.ts'
import type {
  Budget,
  Counters,
  EngineRule,
  EngineTarget,
  Health,
  Meter,
  MeterCounters,
  Resolved,
  Sample
} from '../engine/engine.ts'
import type { DialTiming } from './dial-timing.ts'

/** A rule as the server sent it. */
export interface RuleSpec {
  readonly id: string
  readonly owner: string
  readonly protocol: 'tcp' | 'udp'
  readonly from: number
  readonly to: number // last listen port; `from` for one port
  readonly targets: readonly EngineTarget[] // in order of priority
  readonly preferIpv6: boolean
  readonly fields: Readonly<Record<string, Uint8Array>> // encoded message by field key
  readonly paused?: boolean // accepts nothing
  /** Says how connections end if their target is removed or their rule is paused. Default: 'keep'. */
  readonly existing?: 'keep' | 'drain' | 'cut'
}

/** An engine rule during planning, when fields can change it. */
export type EngineRuleDraft = {
  -readonly [K in Exclude<keyof EngineRule, 'id' | 'owner' | 'meters' | 'shares'>]: EngineRule[K]
}

/** A rule of this agent that has the field, from `opened` to `gone`. Each hook gets the same object. */
export interface FieldRule<B extends TSchema = TSchema> {
  readonly spec: RuleSpec // latest
  readonly value: Static<B>
  /** Closes the rule, or changes how it is closed. The rule is closed while any field closes it. */
  close(closing: Closing): void
  /** Undoes `close` of this field: paused connections continue. */
  open(): void
  /** Like `AgentTime.at`. The next `changed` and `gone` cancel it. */
  at(ms: number, work: () => unknown): Release
}

/**
 * A closed rule refuses new connections and flows. Its ports stay open unless a closing `closesPort`. If several fields
 * close it, the strictest mode applies: 'cut' before 'hold' before 'refuse'.
 */
export interface Closing {
  /**
   * Live connections: 'refuse' lets them continue. 'hold' pauses them until the rule is open again: neither side is read.
   * 'cut' resets them after `drainMs`. Datagrams are dropped when TCP is paused or reset.
   */
  readonly mode: 'refuse' | 'hold' | 'cut'
  /** The code under which statistics count the refusals: 'expired', at most 32 characters. Use constants: codes are stored. */
  readonly reason: string
  readonly drainMs?: number // for 'cut'; default: as for a removed rule
  /**
   * Stops listening on a TCP port that no other rule shares: the system refuses callers, and they are not counted. If
   * another process has the port when the rule opens again, the agent retries until it succeeds.
   */
  readonly closesPort?: boolean
}

/**
 * The server's time. The agent saves it, so that it continues after a restart. After a boot of the host, until the agent
 * hears the server, it is the later of the host's clock and the saved time.
 */
export interface AgentTime {
  now(): number // ms since 1970
  /**
   * Calls `work` at the time `ms`, or at once if it has passed. The release cancels it. Failed work is logged once and
   * retried with backoff, 1 s doubling to 60 s.
   */
  at(ms: number, work: () => unknown): Release
}

export interface ApplyOrder {
  readonly group: string
  readonly rank: number
  readonly isShared?: boolean // shares its group with others, and can be deferred until they arrive
}

/** The rules in the engine. `ruleId` is the server's id of a rule, `engineId` that of one of its runs in the engine. */
export interface AgentRules {
  /**
   * Opens the rule, or changes an open one: live connections continue with their targets. A port that the change leaves
   * drains. A refused change leaves the open rule as it was.
   * Throws Refused: 'port_in_use', 'activation_failed', 'denied_by_agent', 'field_unknown', 'shape_unknown', or a code of
   * a plugin.
   */
  open(spec: RuleSpec): Promise<void>
  /** Closes the listeners. `done` resolves when all connections have ended. */
  close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }>
  /** Orders rules that share a port: exact names, wildcards, the fallback. */
  applyOrderOf(spec: RuleSpec): ApplyOrder
  /** Returns true if the agent has the rule, closed or not. A removed rule that drains does not count. */
  isOpen(ruleId: string): boolean
  /** Returns the number of rules, closed ones included. */
  runningCount(): number
  /** Returns the closed rules with their reasons: the pause, the field, or why the port cannot open again. */
  closed(): ReadonlyMap<string, string>
  /**
   * Replaces the weights of an open rule with a `balance` in its plan, until the weights in the plan change. Throws Refused
   * unless there is one weight for each target.
   */
  setWeights(ruleId: string, weights: readonly number[]): void
  /**
   * Sets the shares of targets for new connections and flows. The plan of the rule must have a `balance`. They stay until the
   * next call. A target that a change adds has its whole weight, unless the hook `changed` sets a share. Plugins get a
   * `TargetEvent` when an ejection starts or ends. Throws Refused unless there is one share for each target.
   */
  setShares(ruleId: string, shares: readonly TargetShare[]): void
  /** Returns the standings of a rule's targets, in their order; none if the rule is not open. */
  standings(ruleId: string): readonly TargetStanding[]
  /** Tells all plugins that a probe has found another health of a target: they get a `TargetEvent`. */
  reportProbe(ruleId: string, change: ProbedChange): void
  /** Plans all rules again. Live connections continue, unless a guard with `live: 'reset'` no longer allows them. */
  replan(): Promise<void>
  /** Returns the rules of this agent that have the field. */
  having<B extends TSchema>(field: FieldRef<B>): readonly FieldRule<B>[]
  /** Returns the rule of an event or a sample, until its last connection has ended. */
  find(engineId: number): RuleSpec | undefined
  /** Changes and saves the given settings. They apply to rules that open later; `drainMs` applies to all. */
  configure(settings: Partial<RuleSettings>): void
}

/** The share of its weight that a target gets, above 0 to 1; or an ejection. */
export type TargetShare = number | Ejection

/** An ejected target gets connections only if no other target is left, after the next priority. */
export interface Ejection {
  readonly reason: string // a code of at most 32 characters, shown as `ejected_reason`
  readonly until: number // AgentTime, ms since 1970; the plugin that ejects the target ends the ejection
}

export interface TargetStanding {
  readonly share: number // 0: ejected
  readonly ejection: Ejection | null
  readonly ejections: number // since the rule opened on this agent
}

/** `reason` as in `TargetProbe`, or 'connected'. */
export interface ProbedChange {
  readonly target: number // index in the rule's targets
  readonly from: Health
  readonly to: Health
  readonly reason: string
}

/** A change by `setShares`, or one of `reportProbe`, which does not change the targets of callers. */
export type TargetEvent =
  | (ProbedChange & { readonly kind: 'target-probed'; readonly rule: RuleSpec })
  | (Ejection & { readonly kind: 'target-ejected'; readonly rule: RuleSpec; readonly target: number }) // index in its targets
  | {
      readonly kind: 'target-returned'
      readonly rule: RuleSpec
      readonly target: number
      readonly reason: string // of the ejection
      readonly share: number // that it starts with
    }

/** A rule field: the result of `defineField`, for example. */
export interface FieldRef<B extends TSchema> {
  readonly key: string
  readonly message: Message<B>
}

export interface RuleSettings {
  readonly drainMs: number // before connections of a removed rule are reset
  readonly tcpIdleMs: number // see EngineRule.idleMs
  readonly udpIdleMs: number
  readonly udpFlowCap: number // see EngineRule.flowCap
}

/** A meter that a rule's traffic passes. Plugins choose the keys: 'owner <user id>' or 'rule <rule id>', for example. */
export interface MeterUse {
  readonly key: string
  readonly refusals: Meter['refusals']
  readonly isOwn?: true // only this rule passes it, so that closing the rule can use it
}

/**
 * The meters by key. A meter is unlimited until limits or a budget are set. They can be set before the first rule uses
 * the meter, and stay after the last.
 */
export interface AgentMeters {
  /** Sets limits, also for live connections. null: unlimited. */
  setLimits(key: string, limits: MeterLimits | null): void
  /** Sets the budget, see `Budget.mark`. null: none. */
  setBudget(key: string, budget: Budget | null): void
  /** Returns true if limits or a budget are set. */
  isLimited(key: string): boolean
  /** Returns the bytes in and out of the meter in `sample`; 0 for an unknown key. */
  totalBytes(key: string, sample: Sample): number
  /** Returns the key of a meter in an event or a sample. */
  keyOf(meterId: number): string | undefined
  /** Returns the settings of a meter and its counters in `sample`; undefined for an unknown key. */
  find(key: string, sample: Sample): MeterState | undefined
}

export interface MeterState {
  readonly limits: MeterLimits
  readonly budget: Budget | null
  readonly refusals: Meter['refusals']
  readonly counters: MeterCounters | null // null: the engine has not counted yet
}

/** The path of a caller through a rule, as the engine evaluates it. */
export interface AgentPaths {
  /** Returns the path through a rule; undefined: the rule is not in force on this agent. */
  find(ruleId: string): RulePath | undefined
  /**
   * Resolves a host as for the engine: hosts file, cache, DNS. Returns the addresses in dial order. Never rejects.
   */
  resolve(host: string, path: Pick<RulePath, 'spec' | 'plan'>): Promise<Resolved>
  /**
   * Connects to a target of a TCP rule, by default to the first one, for a range to its first port, and disconnects, within
   * 5 s. Sends only `Preamble.probe`; a target with a dialer gets nothing. Counts in no statistic, and does not change which
   * target callers get. Never dials an address that the guardrails forbid. null: the rule is not in force, or this host
   * lacks a resource.
   */
  probe(ruleId: string, target?: number): Promise<TargetProbe | null>
  /**
   * Reserves a descriptor for a socket that a plugin opens for a rule, within the equal share of its owner. Returns a
   * function that releases it once the socket is closed; null: none is left.
   */
  reserveDescriptor(path: Pick<RulePath, 'spec'>): (() => void) | null
  /** Returns false if the configuration of the agent forbids to probe rules without traffic; a reload can change it. */
  mayProbeIdle(): boolean
  /** Returns the age of a host's DNS answer in ms; null: the addresses are not from DNS. */
  ageMs(host: string): number | null
  /** The address at which callers on this host reach the listeners. */
  readonly ownAddress: string
}

export interface TargetProbe {
  /** null: the target accepted the connection. A code of 'target-health', 'dns_' and one of Resolved, of a filter or dialer. */
  readonly failure: string | null
  /** Set if a dialer has reached the target. */
  readonly reached?: ReachedTarget
}

/** A target that a dialer has reached. */
export interface ReachedTarget {
  readonly address: string // that was dialed
  readonly timing?: DialTiming
}

export interface RulePath {
  readonly spec: RuleSpec
  /** The engine's rule. */
  readonly plan: Omit<EngineRule, 'id' | 'owner' | 'meters'>
  /**
   * Returns why the engine refuses a caller with this address, or null. With a `firstRead` it is the address of the sender
   * in front; the caller's address is checked later.
   */
  sourceRefusal(address: string, port: number): string | null
  /**
   * Returns the reason of the address guard that refuses a new caller with this address, as the sets of the engine are
   * now, or null. With a `firstRead` pass the caller's address, not that of the sender in front.
   */
  guardRefusal(address: string): string | null
  /**
   * Returns the divert that takes a new caller with this address, as the sets of the engine are now, or null. With a
   * `firstRead` pass the caller's address, not that of the sender in front.
   */
  divert(address: string): Divert | null
  /** Returns why the engine does not dial this address of a target with this host, or null. */
  targetRefusal(address: string, port: number, host: string): string | null
}

/** A caller to explain: what happens to it at a rule. */
export interface AskedCaller {
  readonly path: RulePath
  readonly port: number // listen port
  readonly source: string | null // its address, or that of the proxy in front; null: any caller
  /** The open connections and flows of the source at this rule, as source limits count them. */
  readonly open: number
  readonly sample: Sample
  readonly counters: Counters | null // of the rule, in the sample; null: its port is closed
  /** Refusals of the rule in the last minute, by reason. */
  readonly refused: ReadonlyMap<string, RecentRefusals>
}

export interface RecentRefusals {
  readonly count: number // since the rule opened
  readonly agoMs: number // since the last one; accurate to 5 s
  /** True if the rule has accepted no caller since the last one. */
  readonly isLast: boolean
}

/** One decision about a caller. */
export interface ExplainStep {
  readonly kind: string // of the deciding object: 'rule', 'quota', 'filter', 'limit'; at most 32 characters
  readonly id: string // of the deciding object; at most 264 characters
  readonly verdict: 'pass' | 'stop' | 'info' // 'stop': the caller is refused here
  readonly reason: string | null // for 'stop': the code under which refusals are counted; at most 64 characters
  readonly text: string // a sentence for the user; at most 500 characters
}

/** Limits for one meter; null members are unlimited. */
export type MeterLimits = Omit<Meter, 'refusals'>
