import type { Static, TObject, TSchema, Type } from 'typebox'
import type { Clock } from '../kernel/base/clock.ts'
import type { Log } from '../kernel/base/log.ts'
import type { Metric } from '../kernel/base/metric.ts'
import type { Release } from '../kernel/base/releases.ts'
import type { Capability, Codec, Handler, Message, Request } from '../kernel/wire/message.ts'
import type { MessageChannel } from '../kernel/wire/rpc.ts'
import { type DeclaredField, fieldMessage, type Sent } from '../platform/rule-field.ts'
import type { AddressChange, EngineEvent, Sample } from './engine/engine.ts'
import type { ConnectionQuery, ConnectionSelection, OpenConnection } from './engine/open-connection.ts'
import type { Journal } from './journal/journal.ts'
import type {
  AgentMeters,
  AgentPaths,
  AgentRules,
  AgentTime,
  ApplyOrder,
  AskedCaller,
  EngineRuleDraft,
  ExplainStep,
  FieldRule,
  MeterUse,
  RuleSpec,
  TargetEvent
} from './rules/contract.ts'
import type { AgentQueue } from './state/queues.ts'

export type { Metric } from '../kernel/base/metric.ts'
export {
  type Counters,
  type EngineTarget,
  type PortCounters,
  peekBoundsMs,
  type Sample
} from './engine/engine.ts'
export type { Preamble, PreambleField, PreamblePart } from './engine/preamble.ts'
export type { AddressGuard, ReplyCap, SourceLimit } from './engine/source-guard.ts'
export type * from './rules/contract.ts'
export type { AgentQueue } from './state/queues.ts'
export { ruleKind } from './wire/rule-kind.ts'

/**
 * The agent half of a plugin. It is data, like the server half; functions are called by the agent. An error in one is
 * logged as `plugin.failed` with the plugin's name. Where a rule, an object or a request of the server depends on the
 * result, that one is refused; nothing else is affected.
 */
export interface AgentPlugin {
  readonly name: string // as in the server half
  readonly agent: string // semver range of the contract's version: '^1.0.0'
  /** Capabilities that the agent announces in Hello, beside those of `fields`: id to the version that this half supports. */
  readonly capabilities?: Readonly<Record<string, string>>
  /** Of its section [plugins.<name>] in the agent's configuration; unknown keys are refused. `call.config` has the values. */
  readonly config?: TObject
  readonly messages?: readonly Message[] // beside those of `fields`
  /** Handlers of the server's messages; each has 15 s. */
  readonly handlers?: readonly Handler<AgentCall>[]
  readonly fields?: readonly AgentField[]
  readonly shapes?: readonly AgentShape[]
  /** Returns the meters that a rule's traffic passes, in order, after those of plugins loaded earlier. */
  meters?(rule: RuleSpec): readonly MeterUse[]
  /** Changes the draft of every rule, behind its fields. Without effects; what it says changes by `AgentRules.replan`. */
  plan?(draft: EngineRuleDraft, rule: RuleSpec, call: AgentCall): void
  /** Makes the draft of every rule stricter, when all plugins have planned. As `plan`. */
  tighten?(draft: EngineRuleDraft, rule: RuleSpec, call: AgentCall): void
  /** Kinds of managed objects that this half applies. */
  readonly kinds?: readonly AgentObjectKind[]
  /** Receives every event of the engine, before the agent itself acts on it, and what `setShares` has changed. */
  event?(event: EngineEvent | TargetEvent, call: AgentCall): void
  /** Called when a control stream is up. Work for this stream ends when `stream.signal` is aborted. */
  connected?(stream: ControlStream, call: AgentCall): void
  /** Sends last reports when the agent stops in order. The agent waits for 3 s; the stream may be down. */
  stopping?(call: AgentCall): Promise<void>
  /**
   * Called for each scrape of the agent's /metrics. A name gets the prefix svc_agent_<plugin>_; with more than 1,000 series
   * together the plugin's metrics are missing.
   */
  metrics?(call: AgentCall): readonly Metric[] | Promise<readonly Metric[]>
  /**
   * Returns what this half decides about a caller, for somebody who asks why nothing happens: what lets them pass, what
   * is worth knowing, what stops them. Without effects. What the filters of a plan refuse need not be said.
   */
  explain?(asked: AskedCaller, call: AgentCall): readonly ExplainStep[]
  /** Commands that run in the agent, for the operator of its host: `sluice agent <name>`. */
  readonly commands?: readonly AgentCommand[]
  /**
   * Acquires resources within 10 s; gives each release to `defer`. An error ends the start of the agent. A reload that
   * changes the plugin or its configuration releases them and starts the new plugin.
   */
  start?(scope: AgentScope): Promise<void>
}

export interface AgentScope {
  readonly call: AgentCall
  readonly defer: (release: Release) => void
  /** The metrics of all plugins as they are now, for the one that serves them. */
  readonly metrics: readonly PluginMetrics[]
  /** The explanations of all plugins as they are now, for the one that is asked. */
  readonly explainers: readonly PluginExplainer[]
}

export interface PluginExplainer {
  readonly by: string // plugin
  readonly explain: (asked: AskedCaller) => readonly ExplainStep[]
}

export interface PluginMetrics {
  readonly by: string // plugin
  readonly value: () => Promise<readonly Metric[]>
}

/** A control stream to the server that has been welcomed. */
export interface ControlStream extends MessageChannel {
  /** Returns what the server half of a plugin has put into Welcome under this key. */
  welcomePart(key: string): Uint8Array | undefined
  readonly signal: AbortSignal // aborted when the stream has ended
}

/**
 * A command of the running agent. The command line on the agent's host parses `args` as those of a server half's command,
 * sends them to the agent, and prints the result as a table, or as JSON.
 */
export interface AgentCommand<A extends TObject = TObject> {
  readonly name: string // one word: 'deny-list'
  readonly summary: string
  readonly args?: A
  readonly positional?: readonly string[]
  /** Returns a record, or rows, of at most 1 MiB as JSON, within 10 s. Throws Refused with a code and a remedy. */
  run(given: { readonly args: Static<A>; readonly call: AgentCall }): object | Promise<object>
}

/** Returns the command; infers the type of its arguments from `args`. */
export function defineCommand<A extends TObject>(command: AgentCommand<A>): AgentCommand {
  return command as unknown as AgentCommand // `args` is checked before it runs
}

/** The agent half of a rule field. */
export interface AgentField<B extends TSchema = TSchema> {
  readonly key: string
  readonly message: Message<B> // the type of its value
  readonly capability?: Capability // announced in Hello
  /** Writes the value into the draft of the engine rule. A later value with another draft gives the rule a new engine rule, which takes over its ports. */
  plan?(value: Static<B>, draft: EngineRuleDraft, rule: RuleSpec): void
  /**
   * Sets meters from the value, before the rule opens and at every change. null: the rule does not
   * have the field, or has ended. Throws Refused where the rule must not be open.
   */
  setMeters?(value: Static<B> | null, rule: RuleSpec, meters: AgentMeters): void
  /**
   * The rule comes into force with this field: called before its ports accept, also for the saved rules of a restart. What
   * it closes is closed for the first caller. Throws Refused where the rule must not be open.
   */
  opened?(rule: FieldRule<B>, call: AgentCall): void
  /** A new revision of the rule comes into force, or the time was set back. Its timers are cancelled before. As `opened`. */
  changed?(rule: FieldRule<B>, call: AgentCall): void
  /**
   * The rule has left the agent, could not be opened, or has lost the field; its timers are cancelled. Not called where a
   * new revision replaces it, nor when the agent stops. Live connections may still drain.
   */
  gone?(rule: FieldRule<B>, call: AgentCall): void
}

type SentSchema<B extends TSchema, S extends TSchema> = TSchema extends S ? Type.TUnsafe<Sent<Static<B>>> : S
type Hooks<B extends TSchema> = Omit<AgentField<B>, 'key' | 'message' | 'capability'>

/** Returns the agent half of a field: of a declared one, or of one with a `message` of its own. */
export function defineField<B extends TSchema>(field: AgentField<B>): AgentField<B>
export function defineField<B extends TSchema, S extends TSchema>(
  field: DeclaredField<B, S> & Hooks<SentSchema<B, S>>
): AgentField<SentSchema<B, S>>
export function defineField(field: AgentField | (DeclaredField & Hooks<TSchema>)): AgentField {
  return 'message' in field ? field : { ...field, message: fieldMessage(field) }
}

/** Returns the messages of a half, those of its fields included. */
export const messagesOf = ({ messages = [], fields = [] }: AgentPlugin): readonly Message[] => [
  ...new Set([...messages, ...fields.map(({ message }) => message)])
]

/** Returns the capabilities that a half announces, those of its fields included. */
export const capabilitiesOf = ({ capabilities = {}, fields = [] }: AgentPlugin): Record<string, string> => ({
  ...Object.fromEntries(
    fields.flatMap(({ capability }) => (capability ? [[capability.id, capability.since]] : []))
  ),
  ...capabilities
})

/** Supports rules beyond one TCP port with one target. A rule with a shape that no plugin supports is refused. */
export interface AgentShape {
  readonly shape: 'udp' | 'range' | 'targets'
}

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
  /** Absent where a push can also ask for a removal. */
  readonly remove?: Request<R, A>
  readRemove?(removal: Static<R>): ObjectChange
  /** The answer to a push or a removal; `revision` is the one that the agent has now. */
  answer(id: string, revision: number): Static<A>
  /** Derives, when a push arrives, the object to save and apply in its place. */
  readonly saved?: {
    readonly message: Message<S>
    from(push: Static<P>, call: AgentCall): Static<S>
  }
  /**
   * Objects of this kind limit what others do. They come into force before those and are dropped after them, and one
   * that cannot replace another leaves that in force.
   */
  readonly isLimit?: true
  /** An object that is equal to the one in force is saved, and not applied. Default: deep equality. */
  isEqual?(object: Static<S>, other: Static<S>): boolean
  /** Puts the object in force; throws Refused where it cannot. At a restart it is called for every saved object. */
  apply(id: string, object: Static<S>, call: AgentCall): Promise<void>
  /** Called when a push is in force, before its answer is sent. */
  applied?(push: Static<P>, call: AgentCall): void
  /**
   * Objects of one `group` come into force together: `apply` is called for them in one turn of the event loop, the lowest
   * `rank` first. Default: each by itself, and at a restart all together.
   */
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

/** The change that a push or a removal asks for. */
export interface ObjectChange {
  readonly id: string
  readonly revision: number
  readonly removal?: 'drain' | 'cut' // absent: the object is put in force
  /** What to do with an object that cannot be applied now, see `AgentObjects.put`. Default: 'retry'. */
  readonly attempts?: Attempts
}

export type Attempts = 'retry' | 'once' | 'held'

/** The services of the agent. A plugin gets the same object at every call and may use it as a key. C: its configuration. */
export interface AgentCall<C = unknown> {
  readonly config: C
  readonly clientId: string
  readonly rules: AgentRules
  readonly meters: AgentMeters
  /** Samples the engine's counters, records them in the journal and returns them. */
  takeSample(): Sample
  readonly objects: AgentObjects
  readonly journal: Journal
  readonly codec: Codec
  readonly log: Log
  readonly clock: Clock
  readonly time: AgentTime
  readonly connections: AgentConnections
  readonly paths: AgentPaths
  /**
   * Changes a set of addresses and prefixes in the engine, which guards in drafts name; begin its name with the plugin's.
   * It is not saved. Throws for an invalid prefix, and changes nothing.
   */
  changeAddresses(name: string, change: AddressChange): void
  /** Returns a queue on disk; begin its name with the plugin's. Any call with one name returns the same queue. */
  queue(name: string): AgentQueue
}

/** Which connections and flows are meant; null: all. All members must match. */
export interface ConnectionFilter extends Omit<ConnectionSelection, 'rules'> {
  readonly rule: ((rule: RuleSpec) => boolean) | null
}

/** Connections and flows that are open now, of this agent's rules. */
export interface AgentConnections {
  /** Returns a page of what is selected, the largest of `sort` first. `heldBy` is the key of a meter. */
  list(query: ConnectionFilter & Pick<ConnectionQuery, 'sort' | 'after' | 'limit'>): {
    readonly matched: number // on all pages, as the sums
    readonly bytesIn: number
    readonly bytesOut: number
    readonly rows: readonly (Omit<OpenConnection, 'heldBy'> & {
      readonly rule: RuleSpec
      readonly heldBy: string | null
    })[]
  }
  /** Resets what is selected; returns how many. */
  end(filter: ConnectionFilter): number
}

export type AgentApplyResult =
  | { readonly status: 'applied'; readonly revision: number }
  | { readonly status: 'refused'; readonly revision: number; readonly code: string; readonly message: string }

/** The objects that the server keeps on this agent. They are on disk before a result is returned. */
export interface AgentObjects {
  /**
   * Saves and applies an object. An older revision than the present one changes nothing; the result has the present one.
   * 'retry': an object that cannot be applied now is kept, tried again with backoff (1 s doubling to 60 s), and its
   * status reported. 'once': it is refused, and the object before it stays. 'held': as 'retry', but one that is not in
   * force and shares its group is only saved, with the result's revision 0, until `applyHeld`.
   */
  put(object: AgentObject, attempts: Attempts): Promise<AgentApplyResult>
  /** Applies the held objects of a kind together, and reports the status of each. */
  applyHeld(kind: string): Promise<void>
  /** Takes an object out of force and deletes it; reports its removal when the drain has ended. */
  drop(object: Omit<AgentObject, 'value' | 'bytes'>, removal: 'drain' | 'cut'): Promise<AgentApplyResult>
  /** Returns the objects that failed or wait, with the reason of each. */
  notInForce(): readonly ObjectFailure[]
}

export interface ObjectFailure {
  readonly kind: string
  readonly id: string
  readonly reason: string // a code
  readonly message: string
}

export interface AgentObject {
  readonly kind: string
  readonly id: string
  readonly revision: number
  readonly value: unknown // body of the message that the kind saves
  readonly bytes?: Uint8Array // the encoded value, where the caller has it
}
