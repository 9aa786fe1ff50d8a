import { isDeepStrictEqual } from 'node:util'
import type { Static, TObject, TSchema, Type } from 'typebox'
import type { Clock } from '../kernel/base/clock.ts'
import type { Log } from '../kernel/base/log.ts'
import type { Metric } from '../kernel/base/metric.ts'
import type { Release } from '../kernel/base/releases.ts'
import type { Capability, Codec, Handler, Message, Request } from '../kernel/wire/message.ts'
import type { MessageChannel } from '../kernel/wire/rpc.ts'
import type { AddressChange, EngineEvent, EngineTarget, Sample } from './engine/engine.ts'
import type { ConnectionQuery, ConnectionSelection, OpenConnection } from './engine/open-connection.ts'
import type { Journal } from './journal/journal.ts'
import type { AgentHost } from './rules/agent-host.ts'
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
import type { AgentDial, AgentExits, Dialed, TargetDial } from './rules/dial-contract.ts'
import type { AgentQueue } from './state/queues.ts'
import { type DeclaredObject, objectMessages } from './wire/derived-object.ts'
import { type DeclaredField, fieldMessage, type Sent } from './wire/rule-field.ts'
import {
  type DeclaredTargetField,
  type SentTargetsSchema,
  targetFieldKey,
  targetFieldMessage
} from './wire/target-field.ts'

export type { Metric } from '../kernel/base/metric.ts'
export type { Divert, DivertCounters } from './engine/divert.ts'
export {
  type Counters,
  type EngineTarget,
  type Filter,
  type PortCounters,
  peekBoundsMs,
  type Sample
} from './engine/engine.ts'
export type { Preamble, PreambleField, PreamblePart } from './engine/preamble.ts'
export type { AddressGuard, SourceLimit } from './engine/source-guard.ts'
export { FairEviction } from './net/fair-eviction.ts'
export type { AgentHost } from './rules/agent-host.ts'
export type * from './rules/contract.ts'
export type * from './rules/dial-contract.ts'
export type { DialTiming } from './rules/dial-timing.ts'
export type { AgentQueue } from './state/queues.ts'
export { ruleKind } from './wire/rule-kind.ts'

/**
 * The agent half of a plugin: data and functions that the agent calls. An error in a function is logged as
 * `plugin.failed` with the plugin's name. If a rule, an object or a request of the server depends on the result, the agent
 * refuses it. Nothing else is affected.
 */
export interface AgentPlugin {
  readonly name: string // as in the server half
  readonly agent: string // semver range of the contract's version: '^1.0.0'
  /** Capabilities that the agent announces in Hello besides those of `fields`: id to supported version. */
  readonly capabilities?: Readonly<Record<string, string>>
  /** The keys of its section [plugins.<name>] in the agent's configuration. `call.config` has the values. */
  readonly config?: TObject
  readonly messages?: readonly Message[] // besides those of `fields`
  /** Handlers of the server's messages; each has 15 s. */
  readonly handlers?: readonly Handler<AgentCall>[]
  readonly fields?: readonly AgentField[]
  readonly shapes?: readonly AgentShape[]
  /** Returns the meters that a rule's traffic passes, in order. They follow those of plugins that were loaded before. */
  meters?(rule: RuleSpec): readonly MeterUse[]
  /** Changes the draft of every rule after its fields. Must be pure; call `AgentRules.replan` if its result changes. */
  plan?(draft: EngineRuleDraft, rule: RuleSpec, call: AgentCall): void
  /** Makes the draft of every rule stricter after all plugins have planned. Must be pure, like `plan`. */
  tighten?(draft: EngineRuleDraft, rule: RuleSpec, call: AgentCall): void
  /**
   * Dials a target with this plugin as the planned `dialer`; only the plugin itself can. An error, and no answer within
   * 10 s, are the failures 'internal' and 'timeout'. While the plugin is not loaded, its targets are refused: 'no_dialer'.
   */
  dial?(request: TargetDial, call: AgentCall): Promise<Dialed>
  /** Kinds of managed objects that this half applies. */
  readonly kinds?: readonly AgentObjectKind[]
  /** Receives every event of the engine before the agent handles it, and each `TargetEvent`. */
  event?(event: EngineEvent | TargetEvent, call: AgentCall): void
  /** Called when a control stream is up. End the work for this stream when `stream.signal` is aborted. */
  connected?(stream: ControlStream, call: AgentCall): void
  /**
   * Called when the agent is 'up': saved rules are in force, and it answers commands. 'reloading': a reload begins, and
   * 'up' follows, also if it is refused. 'stopping': before connections drain.
   */
  lifecycle?(phase: AgentPhase, call: AgentCall): void
  /** Sends last reports when the agent stops in order. The agent waits for 3 s. The stream can be down. */
  stopping?(call: AgentCall): Promise<void>
  /**
   * Called for each scrape of the agent's /metrics. Names get the prefix svc_agent_<plugin>_. If the plugin has more than
   * 1,000 series, its metrics are missing.
   */
  metrics?(call: AgentCall): readonly Metric[] | Promise<readonly Metric[]>
  /**
   * Explains what this half decides about a caller: each step passes, informs or stops. Must be pure. Refusals by the
   * filters of a plan are explained elsewhere.
   */
  explain?(asked: AskedCaller, call: AgentCall): readonly ExplainStep[]
  /**
   * Returns lists that `sluice agent status` shows after the agent's own state, by name: {links: [...]}. At most 100 rows of
   * each are shown. After an error they are missing.
   */
  status?(call: AgentCall): Readonly<Record<string, readonly StatusRow[]>>
  /** Commands that run in the agent, for the operator of its host: `sluice agent <name>`. */
  readonly commands?: readonly AgentCommand[]
  /**
   * Acquires resources within 10 s and passes each release to `defer`. An error aborts the start of the agent. A reload
   * that changes the plugin or its configuration releases them and starts the new plugin.
   */
  start?(scope: AgentScope): Promise<void>
}

/** A row in `sluice agent status`: its values are shown in order. */
export type StatusRow = Readonly<Record<string, string | number | null>>

export type AgentPhase = 'up' | 'reloading' | 'stopping'

/** C: the plugin's configuration. */
export interface AgentScope<C = unknown> {
  readonly call: AgentCall<C>
  readonly defer: (release: Release) => void
  /** The current metrics of all plugins, for the plugin that serves them. */
  readonly metrics: readonly PluginMetrics[]
  /** The current explainers of all plugins, for the plugin that answers. */
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
  readonly endpoint: string // host:port of the server
  /** Returns the part of Welcome that the server half of a plugin set under this key. */
  welcomePart(key: string): Uint8Array | undefined
  readonly signal: AbortSignal // aborted when the stream has ended
}

/**
 * A command of the running agent. The command line on the agent's host parses `args` like those of other commands, sends
 * them to the agent, and prints the result as a table or as JSON.
 */
export interface AgentCommand<A extends TObject = TObject> {
  readonly name: string // one word: 'deny-list'
  readonly summary: string
  readonly args?: A
  readonly positional?: readonly string[]
  /** Returns a record or rows within 10 s, at most 1 MiB of JSON. Throws Refused with a code and a remedy. */
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
  /**
   * Writes the value into the draft of the engine rule. If a later value changes the draft, a new engine rule takes over
   * the ports.
   */
  plan?(value: Static<B>, draft: EngineRuleDraft, rule: RuleSpec): void
  /**
   * Sets meters from the value, before the rule opens and at every change. null: the rule does not have the field, or has
   * ended. Throws Refused if the rule must not open.
   */
  setMeters?(value: Static<B> | null, rule: RuleSpec, meters: AgentMeters): void
  /**
   * Called when a rule with this field comes into force, before its ports accept; after a restart also for saved rules. If
   * it closes the rule, the first caller is refused. Throws Refused if the rule must not open.
   */
  opened?(rule: FieldRule<B>, call: AgentCall): void
  /**
   * Called when a new revision of the rule comes into force, or the time was set back. Timers are cancelled before.
   * Throws like `opened`.
   */
  changed?(rule: FieldRule<B>, call: AgentCall): void
  /**
   * Called when the rule was removed, could not open, or has lost the field. Timers are cancelled. Not called for a new
   * revision, nor when the agent stops. Live connections can still drain.
   */
  gone?(rule: FieldRule<B>, call: AgentCall): void
}

type SentSchema<B extends TSchema, S extends TSchema> = TSchema extends S ? Type.TUnsafe<Sent<Static<B>>> : S
type Hooks<B extends TSchema> = Omit<AgentField<B>, 'key' | 'message' | 'capability'>

/** Returns the agent half of a field: of a declared one, or of one with its own `message`. */
export function defineField<B extends TSchema>(field: AgentField<B>): AgentField<B>
export function defineField<B extends TSchema, S extends TSchema>(
  field: DeclaredField<B, S> & Hooks<SentSchema<B, S>>
): AgentField<SentSchema<B, S>>
export function defineField(field: AgentField | (DeclaredField & Hooks<TSchema>)): AgentField {
  return 'message' in field ? field : { ...field, message: fieldMessage(field) }
}

/**
 * Returns the agent half of a property of targets. Its value is {values: [{target, value}]}: `target` is an index of
 * `RuleSpec.targets`, and targets without a value are missing.
 */
export const defineTargetField = <B extends TSchema, S extends TSchema>(
  field: DeclaredTargetField<B, S> & Hooks<SentTargetsSchema<B, S>>
): AgentField<SentTargetsSchema<B, S>> => ({
  ...field,
  key: targetFieldKey(field.key),
  message: targetFieldMessage(field)
})

/** Returns the messages of a half, those of its fields and derived objects included. */
export const messagesOf = ({ messages = [], fields = [], kinds = [] }: AgentPlugin): readonly Message[] => {
  const own = new Map([...messages, ...fields.map(({ message }) => message)].map(one => [one.name, one]))
  const ofKinds = kinds.flatMap(({ push, remove }) =>
    [push, remove].flatMap(request => (request ? [request, request.response] : []))
  )
  return [...new Map([...ofKinds.map(one => [one.name, one] as const), ...own]).values()]
}

/** Returns the capabilities that a half announces, those of its fields included. */
export const capabilitiesOf = ({ capabilities = {}, fields = [] }: AgentPlugin): Record<string, string> => ({
  ...Object.fromEntries(
    fields.flatMap(({ capability }) => (capability ? [[capability.id, capability.since]] : []))
  ),
  ...capabilities
})

/** Supports rules other than one TCP port with one target. The agent refuses shapes that no plugin supports. */
export interface AgentShape {
  readonly shape: 'udp' | 'range' | 'targets'
}

/**
 * One kind of object that the server manages on this agent. The agent decodes pushes and removals, saves objects, answers
 * the server and retries failures. The kind interprets messages and puts objects in force.
 * P, R: bodies of push and removal; A: body of the answer; S: the saved body, by default the push.
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
  /** Absent if pushes also request removals. */
  readonly remove?: Request<R, A>
  readRemove?(removal: Static<R>): ObjectChange
  /** Returns the answer to a push or a removal; `revision` is the one that the agent has now. */
  answer(id: string, revision: number): Static<A>
  /** Derives the object to save and apply instead of the push, when the push arrives. */
  readonly saved?: {
    readonly message: Message<S>
    from(push: Static<P>, call: AgentCall): Static<S>
  }
  /**
   * Objects of this kind limit others. They come into force before the others and are removed after them. If a new one
   * cannot be applied, the old one stays in force.
   */
  readonly isLimit?: true
  /** An object that equals the one in force is saved, but not applied. Default: deep equality. */
  isEqual?(object: Static<S>, other: Static<S>): boolean
  /** Puts the object in force, or throws Refused. Called for every saved object after a restart. */
  apply(id: string, object: Static<S>, call: AgentCall): Promise<void>
  /** Called when a push is in force, before its answer is sent. */
  applied?(push: Static<P>, call: AgentCall): void
  /**
   * Objects of one `group` come into force together: `apply` is called for them in one turn of the event loop, the lowest
   * `rank` first. Default: each alone, and after a restart all together.
   */
  applyOrder?(object: Static<S>, call: AgentCall): ApplyOrder
  /** Resolves when the object is out of force for new connections. `done` settles when its drain has ended. */
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

/** The hooks of the agent half of a derived object. `id` is that of the rule. */
interface DerivedObjectHooks<V> {
  /** Puts the object in force, or throws Refused. Called for every saved object after a restart. */
  apply(id: string, body: V, call: AgentCall): Promise<void>
  /** Resolves when the object is out of force for new connections. `done` settles when its drain has ended. */
  withdraw(id: string, removal: 'drain' | 'cut', call: AgentCall): Promise<{ readonly done: Promise<void> }>
}

/** Returns the agent half of an object that the server derives from rules of other clients. Add it to `kinds`. */
export function defineDerivedObject<B extends TObject>({
  kind,
  body,
  apply,
  withdraw
}: DeclaredObject<B> & DerivedObjectHooks<Static<B>>): AgentObjectKind {
  return defineObjectKind({
    kind,
    ...objectMessages({ kind, body }),
    readPush: ({ id, revision }) => ({ id, revision, attempts: 'once' }),
    readRemove: change => change,
    answer: (id, revision) => ({ id, revision }),
    isEqual: (object, other) => isDeepStrictEqual(object.body, other.body),
    apply: (id, object, call) => apply(id, object.body, call),
    withdraw
  })
}

/** The change that a push or a removal requests. */
export interface ObjectChange {
  readonly id: string
  readonly revision: number
  readonly removal?: 'drain' | 'cut' // absent: apply the object
  /** How to handle an object that cannot be applied now, see `AgentObjects.put`. Default: 'retry'. */
  readonly attempts?: Attempts
}

export type Attempts = 'retry' | 'once' | 'deferred'

/** The services of the agent. A plugin gets the same object at every call and can use it as a key. C: its configuration. */
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
  readonly host: AgentHost
  /** Dials a target for another agent. */
  readonly dial: AgentDial
  readonly exits: AgentExits
  /**
   * Changes a named set of addresses and prefixes in the engine. Guards in drafts refer to it. Start the name with the
   * plugin's. The set is not saved. An invalid prefix throws and changes nothing.
   */
  changeAddresses(name: string, change: AddressChange): void
  /** Returns a queue on disk. Start the name with the plugin's. Calls with the same name return the same queue. */
  queue(name: string): AgentQueue
}

/** Selects connections and flows; null: all. All members must match. */
export interface ConnectionFilter extends Omit<ConnectionSelection, 'rules' | 'ruleTargets'> {
  readonly rule: ((rule: RuleSpec) => boolean) | null
  /** Selects connections by their targets as planned. Those of diverts, and those that are still dialing, match none. */
  readonly planned?: ((target: EngineTarget) => boolean) | null
}

/** The open connections and flows of this agent's rules. */
export interface AgentConnections {
  /** Returns a page of the selection, in descending order of `sort`. `heldBy` is the key of a meter. */
  list(query: ConnectionFilter & Pick<ConnectionQuery, 'sort' | 'after' | 'limit'>): {
    readonly matched: number // on all pages, like the sums
    readonly bytesIn: number
    readonly bytesOut: number
    readonly rows: readonly (Omit<OpenConnection, 'heldBy'> & {
      readonly rule: RuleSpec
      readonly heldBy: string | null
      readonly planned: EngineTarget | null // the target as planned when the rule opened; null: of a divert, or still dialing
    })[]
  }
  /** Resets the selection; returns the number. */
  end(filter: ConnectionFilter): number
}

export type AgentApplyResult =
  | { readonly status: 'applied'; readonly revision: number }
  | { readonly status: 'refused'; readonly revision: number; readonly code: string; readonly message: string }

/** The objects that the server manages on this agent. They are on disk before a result is returned. */
export interface AgentObjects {
  /**
   * Saves and applies an object. An older revision than the current one changes nothing; the result has the current one.
   * 'retry': an object that cannot be applied now is saved, retried with backoff (1 s doubling to 60 s), and its status
   * reported. 'once': it is refused, and the previous object stays. 'deferred': like 'retry', but an object that is not in
   * force and shares its group is only saved until `applyDeferred`; the result has revision 0.
   */
  put(object: AgentObject, attempts: Attempts): Promise<AgentApplyResult>
  /** Applies the deferred objects of a kind together and reports their status. */
  applyDeferred(kind: string): Promise<void>
  /** Takes an object out of force and deletes it. Reports the removal when the drain has ended. */
  drop(object: Omit<AgentObject, 'value' | 'bytes'>, removal: 'drain' | 'cut'): Promise<AgentApplyResult>
  /** Returns the failed and deferred objects with their reasons. */
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
  readonly value: unknown // the saved body of the kind
  readonly bytes?: Uint8Array // the encoded value, if available
}
