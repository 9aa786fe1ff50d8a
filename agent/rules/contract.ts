// What agent halves see of rules, meters and the time. They import it from agent/plugin.ts.
import type { Static, TSchema } from 'typebox'
import type { Release } from '../../kernel/base/releases.ts'
import type { Message } from '../../kernel/wire/message.ts'
import type { Budget, EngineRule, EngineTarget, Meter, Sample } from '../engine.ts'

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
export type EngineRuleDraft = { -readonly [K in Exclude<keyof EngineRule, 'id' | 'meters'>]: EngineRule[K] }

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
  /** Returns the rules of this agent that have the field. */
  having<B extends TSchema>(field: FieldRef<B>): readonly FieldRule<B>[]
  /** Returns the rule of an event or a sample, until its last connection has ended. */
  find(engineId: number): RuleSpec | undefined
  /** Changes and saves settings; those not given stay. They apply to rules that open later, `drainMs` to all. */
  configure(settings: Partial<RuleSettings>): void
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
}

/** Limits for one meter; null members are unlimited. */
export type MeterLimits = Omit<Meter, 'refusals'>
