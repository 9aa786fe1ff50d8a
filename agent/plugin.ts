import type { Static, TSchema } from 'typebox'
import type { Clock } from '../kernel/base/clock.ts'
import type { Log } from '../kernel/base/log.ts'
import type { Release } from '../kernel/base/releases.ts'
import type { Codec, Handler, Message, Request } from '../kernel/wire/message.ts'
import type { MessageChannel } from '../kernel/wire/rpc.ts'
import type { Budget, EngineEvent, EngineRule, EngineTarget, Meter, Sample } from './engine.ts'
import type { Journal } from './journal/journal.ts'

/** The agent's half of a feature. Data, as the server's half is. */
export interface AgentPlugin {
  readonly name: string // same as the server's half
  readonly agent: string // range of this contract
  /** Announced in Hello: capability to the version of it that this half speaks. */
  readonly capabilities?: Readonly<Record<string, string>>
  readonly messages?: readonly Message[]
  readonly handlers?: readonly Handler<AgentCall>[]
  readonly fields?: readonly AgentField[]
  readonly shapes?: readonly AgentShape[]
  /** Meters that a rule passes, in their order; asked once, when it opens. Those of earlier plugins come first. */
  meters?(rule: RuleSpec): readonly MeterUse[]
  /** Kinds of managed objects that this half applies. */
  readonly kinds?: readonly AgentObjectKind[]
  event?(event: EngineEvent, call: AgentCall): void
  /** A stream is up; what runs for it ends with `signal`. `part` is what the server's half put into Welcome. */
  connected?(stream: ControlStream, call: AgentCall): void
  /** The agent stops in order: what the server should still hear. Waited for 3 s; the stream may be down. */
  stopping?(call: AgentCall): Promise<void>
  /** Acquire what needs acquiring, once a process, within 10 s; hand each release to `defer`. */
  start?(scope: { readonly call: AgentCall; readonly defer: (release: Release) => void }): Promise<void>
}

export interface ControlStream extends MessageChannel {
  welcomePart(key: string): Uint8Array | undefined
  readonly signal: AbortSignal
}

/** The agent's half of a rule field. */
export interface AgentField<B extends TSchema = TSchema> {
  readonly key: string
  readonly message: Message<B>
  /** Writes its part into the rule before it opens. What it writes differently at a change opens the rule anew. */
  plan?(value: Static<B>, draft: EngineRuleDraft): void
  /** Of a hot field: sets meters, before the rule opens and at every change; null where the rule has none. */
  setMeters?(value: Static<B> | null, rule: RuleSpec, meters: AgentMeters): void
}

export function defineField<B extends TSchema>(field: AgentField<B>): AgentField {
  return field
}

/** What goes beyond one TCP port with one target. A rule whose shape no half claims is refused. */
export interface AgentShape {
  readonly claims: 'udp' | 'range' | 'targets'
}

/** A rule as it came over the wire; each value still in the bytes of its owner's message. */
export interface RuleSpec {
  readonly id: string
  readonly owner: string
  readonly protocol: 'tcp' | 'udp'
  readonly from: number
  readonly to: number
  readonly targets: readonly EngineTarget[]
  readonly preferIpv6: boolean
  readonly fields: Readonly<Record<string, Uint8Array>>
}

/** A rule while it is put together. Mutable on purpose, and only during planning. */
export type EngineRuleDraft = { -readonly [K in Exclude<keyof EngineRule, 'id' | 'meters'>]: EngineRule[K] }

/**
 * One kind of object that the server keeps on this agent. The agent decodes pushes and removals, saves objects, answers
 * the server and retries what failed; the kind says what a message asks for and how an object comes into force.
 * P, R: bodies of push and removal; A: of the answer; S: what is saved, by default the push.
 */
export interface AgentObjectKind<
  P extends TSchema = TSchema,
  R extends TSchema = TSchema,
  A extends TSchema = TSchema,
  S extends TSchema = P
> {
  readonly kind: string
  readonly push: Request<P, A>
  readPush(push: Static<P>): ObjectChange
  /** Left out where a push can also ask for a removal. */
  readonly remove?: Request<R, A>
  readRemove?(removal: Static<R>): ObjectChange
  /** The answer to a push or a removal; `revision` is the one that the agent has now. */
  answer(id: string, revision: number): Static<A>
  /** What is saved and applied in place of the push, worked out when the push arrives. */
  readonly saved?: {
    readonly message: Message<S>
    from(push: Static<P>, call: AgentCall): Static<S>
  }
  /** An object that is equal to the one in force is saved, and not applied. Default: deep equality. */
  isEqual?(object: Static<S>, other: Static<S>): boolean
  /** Puts the object in force; throws Refused where it cannot. At a restart it is called for every saved object. */
  apply(id: string, object: Static<S>, call: AgentCall): Promise<void>
  /** A push is in force, and its answer is about to be sent. */
  applied?(push: Static<P>, call: AgentCall): void
  /** Objects of one `group` come into force in the order of their `rank`, the lowest first. Default: all at once. */
  applyOrder?(object: Static<S>, call: AgentCall): ApplyOrder
  /** Resolves when the object is out of force for new connections; `done` settles when its drain has ended. */
  withdraw(id: string, removal: 'drain' | 'cut', call: AgentCall): Promise<{ readonly done: Promise<void> }>
}

/** Infers the types of the messages. */
export function defineObjectKind<
  P extends TSchema,
  R extends TSchema,
  A extends TSchema,
  S extends TSchema = P
>(kind: AgentObjectKind<P, R, A, S>): AgentObjectKind {
  return kind
}

/** What a push or a removal asks for. */
export interface ObjectChange {
  readonly id: string
  readonly revision: number
  /** Set: the object is to go. */
  readonly removal?: 'drain' | 'cut'
  /** What to do with an object that cannot be applied now, see `AgentObjects.put`. Default: 'retry'. */
  readonly attempts?: Attempts
}

export type Attempts = 'retry' | 'once'

export interface ApplyOrder {
  readonly group: string
  readonly rank: number
}

export interface AgentCall {
  readonly rules: AgentRules
  readonly meters: AgentMeters
  /** Writes what the engine has counted into the journal, now; what it gives is what the journal then holds. */
  takeSample(): Sample
  readonly objects: AgentObjects
  readonly journal: Journal
  readonly codec: Codec
  readonly log: Log
  readonly clock: Clock
}

/** Rules in the engine, by the server's ids. */
export interface AgentRules {
  /** Opens it; a rule of that id which is open and planned differently is replaced, an equal one is not touched. */
  open(spec: RuleSpec): Promise<void>
  close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }>
  /** Rules of one port open in an order: names, wildcards, what takes the rest. */
  applyOrderOf(spec: RuleSpec): ApplyOrder
  /** The rule in the engine under this number, until it has ended: for events. */
  find(engineId: number): RuleSpec | undefined
  /** From Welcome, kept for a start without the server; what is left out stays. For rules that open from now on. */
  configure(settings: Partial<RuleSettings>): void
}

export interface RuleSettings {
  readonly drainMs: number // what a removed rule's connections have
  readonly tcpIdleMs: number
  readonly udpIdleMs: number
  readonly udpFlowCap: number // of one rule
}

/** A meter by its owner's name for it ('owner <user>', 'rule <id>'), and how it refuses. */
export interface MeterUse {
  readonly key: string
  readonly refusals: Meter['refusals']
}

/** Unlimited is the beginning: limits and budgets may come before the first rule and outlive the last. */
export interface AgentMeters {
  /** Reaches live connections. null: unlimited again. */
  setLimits(key: string, limits: MeterLimits | null): void
  /** The mark is compared with `total` as it is then: what passed since it was read counts. null: no budget. */
  setBudget(key: string, budget: Budget | null): void
  /** What it let through, in and out; 0 where it is new. For a `count` at the same instant. */
  totalBytes(key: string, sample: Sample): number
  /** For events and samples. */
  keyOf(meterId: number): string | undefined
}
export type MeterLimits = Omit<Meter, 'refusals'>

export type AgentApplyResult =
  | { readonly status: 'applied'; readonly revision: number }
  | { readonly status: 'refused'; readonly revision: number; readonly code: string; readonly message: string }

/** The objects that the server keeps on this agent. They are on disk before a result is returned. */
export interface AgentObjects {
  /**
   * Saves and applies an object. An older revision than the present one changes nothing; the result has the present one.
   * 'retry': an object that cannot be applied now is kept, tried again with backoff (1 s doubling to 60 s), and its
   * status reported. 'once': it is refused, and the object before it stays.
   */
  put(object: AgentObject, attempts: Attempts): Promise<AgentApplyResult>
  /** Takes an object out of force and deletes it; reports its removal when the drain has ended. */
  drop(object: Omit<AgentObject, 'value' | 'bytes'>, removal: 'drain' | 'cut'): Promise<AgentApplyResult>
}
export interface AgentObject {
  readonly kind: string
  readonly id: string
  readonly revision: number
  /** Of the message that the kind saves. */
  readonly value: unknown
  /** The encoded value, where the caller has it. */
  readonly bytes?: Uint8Array
}
