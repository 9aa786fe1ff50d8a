// What agent halves see of rules, meters and the time. They import it from agent/plugin.ts.
import type { Static, TSchema } from 'typebox'
import type { Release } from '../../kernel/base/releases.ts'
import type { Message } from '../../kernel/wire/message.ts'
import type {
  Budget,
  Counters,
  EngineRule,
  EngineTarget,
  Meter,
  MeterCounters,
  Resolved,
  Sample
} from '../engine/engine.ts'

/** A rule as the server has sent it. */
export interface RuleSpec {
  readonly id: string
  readonly owner: string
  readonly protocol: 'tcp' | 'udp'
  readonly from: number
  readonly to: number // last listen port; equal to `from` for one port
  readonly targets: readonly EngineTarget[] // failover order
  readonly preferIpv6: boolean
  readonly fields: Readonly<Record<string, Uint8Array>> // key to the encoded message of the field
  readonly paused?: boolean // it keeps its place and accepts nothing
  /** What becomes of connections that the change leaves without a target, or with a paused rule; default: 'keep'. */
  readonly existing?: 'keep' | 'drain' | 'cut'
}

/** An engine rule during planning, when fields may change it. */
export type EngineRuleDraft = {
  -readonly [K in Exclude<keyof EngineRule, 'id' | 'meters' | 'shares'>]: EngineRule[K]
}

/** A rule of this agent that has the field, from `opened` to `gone`. Hooks get the same object at every call. */
export interface FieldRule<B extends TSchema = TSchema> {
  readonly spec: RuleSpec // the newest
  readonly value: Static<B>
  /** Closes the rule, or changes how it is closed. It is open again when no field closes it any more. */
  close(closing: Closing): void
  /** Ends what `close` of this field has begun: held connections continue. */
  open(): void
  /** As `AgentTime.at`; cancelled by the next `changed`, and by `gone`. */
  at(ms: number, work: () => unknown): Release
}

/**
 * A closed rule refuses new connections and flows. It keeps its ports, unless a closing in force `closesPort`. Where several
 * fields close it, the strictest mode is in force: 'cut' before 'hold' before 'refuse'.
 */
export interface Closing {
  /**
   * Live connections: 'refuse' lets them go on; 'hold' pauses them, neither side is read, until the rule is open again;
   * 'cut' resets them after `drainMs`. Datagrams are dropped where TCP is paused or reset.
   */
  readonly mode: 'refuse' | 'hold' | 'cut'
  /** The code under which statistics count the refusals: 'expired', of at most 32 characters. A constant: codes are kept. */
  readonly reason: string
  readonly drainMs?: number // of 'cut'; default: as for a removed rule
  /**
   * A TCP port that no other rule shares does not listen meanwhile: the system refuses callers, and nobody counts them.
   * If another process has the port when the rule opens again, that is tried until it succeeds.
   */
  readonly closesPort?: boolean
}

/**
 * The server's time, which an agent goes on with after a restart. Until it hears the server for the first time since the
 * start of its host, it is the clock of the host, where that is later than what the agent has saved.
 */
export interface AgentTime {
  now(): number // ms since 1970
  /**
   * Calls `work` when the time is `ms`, at once if it is past, unless released before. Work that fails is logged once and
   * repeated with backoff, 1 s doubling to 60 s.
   */
  at(ms: number, work: () => unknown): Release
}

export interface ApplyOrder {
  readonly group: string
  readonly rank: number
  readonly isShared?: boolean // with others of its group; it can be held back until they are there
}

/** The rules in the engine. `ruleId` is the server's id of a rule, `engineId` that of one of its runs in the engine. */
export interface AgentRules {
  /**
   * Opens the rule, or changes an open one: live connections go on, with the targets that they have. A port that it moves
   * away from drains. What is refused leaves the open rule as it was.
   * Throws Refused: 'port_in_use', 'activation_failed', 'denied_by_agent', 'field_unknown', 'shape_unknown', or a code of
   * a plugin.
   */
  open(spec: RuleSpec): Promise<void>
  /** Closes the listeners; `done` resolves when the connections have ended, or at once where there are none. */
  close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }>
  /** Orders rules that share a port: exact names, wildcards, the fallback. */
  applyOrderOf(spec: RuleSpec): ApplyOrder
  /** True while the agent has the rule, closed or not; a removed one that drains does not count. */
  isOpen(ruleId: string): boolean
  /** Returns how many rules the agent has, those that are closed among them. */
  runningCount(): number
  /** Returns the rules that are closed now, with the reason: of the pause or the field that closes them, or why they cannot open again. */
  closed(): ReadonlyMap<string, string>
  /**
   * Replaces the weights of an open rule whose plan has a `balance`, until its plan has other ones. Throws Refused where
   * there is not one weight for each target.
   */
  setWeights(ruleId: string, weights: readonly number[]): void
  /**
   * Decides what the targets of a rule whose plan has a `balance` get now, beside their weights: for new connections and
   * flows, until it is called again. A target that a change adds has its whole weight, unless the hook `changed` says
   * otherwise. Plugins hear of ejections that begin and end (`TargetEvent`). Throws Refused where there is not one for each.
   */
  setShares(ruleId: string, shares: readonly TargetShare[]): void
  /** Returns how the targets of a rule stand, in their order; of a rule that is not open none. */
  standings(ruleId: string): readonly TargetStanding[]
  /** Plans all rules anew. Live connections go on, but those that guards with `live: 'reset'` no longer allow. */
  replan(): Promise<void>
  /** Returns the rules of this agent that have the field. */
  having<B extends TSchema>(field: FieldRef<B>): readonly FieldRule<B>[]
  /** Returns the rule of an event or a sample, until its last connection has ended. */
  find(engineId: number): RuleSpec | undefined
  /** Changes and saves settings; those not given stay. They apply to rules that open later, `drainMs` to all. */
  configure(settings: Partial<RuleSettings>): void
}

/** The part of its weight that a target gets, above 0 to 1; or why it is ejected. */
export type TargetShare = number | Ejection

/** An ejected target gets connections when no other target is left; the next priority precedes it. */
export interface Ejection {
  readonly reason: string // a code of at most 32 characters, shown as `ejected_reason`
  readonly until: number // by AgentTime, ms since 1970; who has ejected it ends it
}

export interface TargetStanding {
  readonly share: number // 0: ejected
  readonly ejection: Ejection | null
  readonly ejections: number // since the rule is open here
}

/** What `setShares` has changed. */
export type TargetEvent =
  | (Ejection & { readonly kind: 'target-ejected'; readonly rule: RuleSpec; readonly target: number }) // index in its targets
  | {
      readonly kind: 'target-returned'
      readonly rule: RuleSpec
      readonly target: number
      readonly reason: string // why it was ejected
      readonly share: number // with which it begins
    }

/** A rule field, for example as `defineField` returns it. */
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

/** A meter that a rule's traffic passes. Plugins name meters, for example 'owner <user id>' or 'rule <rule id>'. */
export interface MeterUse {
  readonly key: string
  readonly refusals: Meter['refusals']
  readonly isOwn?: true // no other rule passes it: what closes the rule may use it
}

/**
 * The meters by key. A meter is unlimited until limits or a budget are set. They may be set before the first rule passes
 * the meter, and stay after the last.
 */
export interface AgentMeters {
  /** Sets limits, also for live connections. null: unlimited. */
  setLimits(key: string, limits: MeterLimits | null): void
  /** Sets the budget; see `Budget.mark` for what it is compared with. null: none. */
  setBudget(key: string, budget: Budget | null): void
  /** True while limits or a budget are set. */
  isLimited(key: string): boolean
  /** Returns the bytes in and out that the meter had let through when `sample` was taken; 0 for an unknown key. */
  totalBytes(key: string, sample: Sample): number
  /** Returns the key of a meter in an event or a sample. */
  keyOf(meterId: number): string | undefined
  /** Returns what is set for a meter, and its counters when `sample` was taken; undefined for an unknown key. */
  find(key: string, sample: Sample): MeterState | undefined
}

export interface MeterState {
  readonly limits: MeterLimits
  readonly budget: Budget | null
  readonly refusals: Meter['refusals']
  readonly counters: MeterCounters | null // null: the engine has not counted yet
}

/** The ways of callers through the rules of this agent, as the engine goes them. */
export interface AgentPaths {
  /** Returns the way through a rule; undefined: the agent does not have it in force. */
  find(ruleId: string): RulePath | undefined
  /**
   * Resolves a host as for the engine, by its hosts file, its cache and its DNS servers, in the order in which addresses are
   * dialed. Never rejects.
   */
  resolve(host: string, plan: Pick<EngineRule, 'preferIpv6'>): Promise<Resolved>
  /** Returns how long ago DNS gave the addresses of a host, ms; null: they are not from DNS. */
  ageMs(host: string): number | null
  /** Where callers on this host itself reach the listeners. */
  readonly ownAddress: string
}

export interface RulePath {
  readonly spec: RuleSpec
  /** The engine's rule. */
  readonly plan: Omit<EngineRule, 'id' | 'meters'>
  /**
   * Returns the reason for which the engine refuses a caller with this address, or null. Where the plan has a `firstRead`,
   * it is the address of the sender in front, and the caller's own is judged later.
   */
  sourceRefusal(address: string, port: number): string | null
  /** Returns the reason for which the engine does not dial this address of a target with this host, or null. */
  targetRefusal(address: string, port: number, host: string): string | null
}

/** A caller of a rule, of whom somebody asks what becomes of them. */
export interface AskedCaller {
  readonly path: RulePath
  readonly port: number // on which they call
  readonly source: string | null // their address, of a proxy in front that of the proxy; null: nobody in particular
  /** Connections and flows of the rule that the source has open, as limits for each source count them. */
  readonly open: number
  readonly sample: Sample
  readonly counters: Counters | null // of the rule, in the sample; null: its port is closed
  /** What the rule has refused in the last minute, by reason. */
  readonly refused: ReadonlyMap<string, RecentRefusals>
}

export interface RecentRefusals {
  readonly count: number // since the rule was opened
  readonly agoMs: number // since the last of them; known to 5 s
  /** True if the rule has accepted nobody after the last of them. */
  readonly isLast: boolean
}

/** One decision about a caller. */
export interface ExplainStep {
  readonly kind: string // what decides: 'rule', 'quota', 'filter', 'limit'; at most 32 characters
  readonly id: string // of the object that decides; at most 264 characters
  readonly verdict: 'pass' | 'stop' | 'info' // 'stop': the caller comes no further
  readonly reason: string | null // of a stop the code under which refusals are counted; at most 64 characters
  readonly text: string // a sentence for its user; at most 500 characters
}

/** Limits for one meter; null members are unlimited. */
export type MeterLimits = Omit<Meter, 'refusals'>
