import type { Static, TSchema } from 'typebox'
import type { Clock } from '../kernel/base/clock.ts'
import type { Log } from '../kernel/base/log.ts'
import type { Release } from '../kernel/base/releases.ts'
import type { Codec } from '../kernel/wire/codec.ts'
import type { Line } from '../kernel/wire/exchange.ts'
import type { Handler, Message } from '../kernel/wire/message.ts'
import type { EngineEvent, EngineRule, EngineTarget } from './engine.ts'
import type { Journal } from './journal.ts'

/** The agent's half of a feature. Data, as the server's half is. */
export interface AgentPlugin {
  readonly name: string // same as the server's half
  readonly agent: string // range of this contract
  /** Announced in Hello: capability to the version of it that this half speaks. */
  readonly capabilities?: Readonly<Record<string, string>>
  readonly messages?: readonly Message[]
  readonly handlers?: readonly Handler<AgentCall>[]
  readonly fields?: readonly AgentField[]
  /** Kinds of held objects that this half keeps, see `AgentCall.held`. */
  readonly kinds?: readonly AgentKind[]
  event?(event: EngineEvent, call: AgentCall): void
  /** A stream is up; what runs for it ends with `signal`. `part` is what the server's half put into Welcome. */
  joined?(stream: Stream, call: AgentCall): void
  /** The agent stops in order: what the server should still hear. Waited for 3 s; the stream may be down. */
  leaving?(call: AgentCall): Promise<void>
  /** Acquire what needs acquiring, once a process; hand each release to `defer`. */
  start?(scope: { readonly call: AgentCall; readonly defer: (release: Release) => void }): Promise<void>
}

export interface Stream extends Line {
  part(key: string): Uint8Array | undefined
  readonly signal: AbortSignal
}

/** The agent's half of a rule field. */
export interface AgentField<B extends TSchema = TSchema> {
  readonly key: string
  readonly message: Message<B>
  /** Writes its part into the rule before it opens. */
  plan?(value: Static<B>, draft: Draft): void
}

export function defineField<B extends TSchema>(field: AgentField<B>): AgentField {
  return field
}

/** A rule as it came over the wire; each value still in the bytes of its owner's message. */
export interface RuleSpec {
  readonly id: string
  readonly owner: string
  readonly protocol: 'tcp'
  readonly from: number
  readonly to: number
  readonly targets: readonly EngineTarget[]
  readonly preferIpv6: boolean
  readonly fields: Readonly<Record<string, Uint8Array>>
}

/** A rule while it is put together. Mutable on purpose, and only during planning. */
export type Draft = { -readonly [K in keyof EngineRule]: EngineRule[K] }

/** One kind of object that the server keeps on this agent; saved state brings it back at a start without the server. */
export interface AgentKind {
  readonly kind: string
  /**
   * Puts the object in force; `bytes` as they were handed to `held.put`. A refusal is thrown as Refused.
   * At a restart it is called for every saved object of the kind.
   */
  apply(id: string, bytes: Uint8Array, call: AgentCall): Promise<void>
  /** Takes it out of force: resolves when it is shut; `done` settles when its drain has ended. */
  withdraw(id: string, removal: 'drain' | 'cut', call: AgentCall): Promise<{ readonly done: Promise<void> }>
}

export interface AgentCall {
  readonly rules: AgentRules
  readonly held: AgentHeld
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
  /** Of a rule in the engine, for events. */
  idOf(engineId: number): string | undefined
  /** Milliseconds that a removed rule's connections have, and the idle time of TCP connections; from Welcome. */
  configure(settings: { readonly drainMs: number; readonly tcpIdleMs: number }): void
}

export type Verdict =
  | { readonly is: 'taken'; readonly revision: number }
  | { readonly is: 'refused'; readonly revision: number; readonly code: string; readonly message: string }

/** What the server keeps on this agent: object to revision and bytes, on disk before the answer goes out. */
export interface AgentHeld {
  /**
   * Applies and saves. An older revision than the one held changes nothing and answers with the one held.
   * `retry`: one that cannot be applied now is kept, tried again with backoff (1 s doubling to 60 s), and reported.
   */
  put(object: AgentObject, retry: 'retry' | 'once'): Promise<Verdict>
  /** Withdraws, forgets and saves; tells the server with Gone when the drain has ended. */
  drop(object: Omit<AgentObject, 'bytes'>, removal: 'drain' | 'cut'): Promise<Verdict>
}
export interface AgentObject {
  readonly kind: string
  readonly id: string
  readonly revision: number
  readonly bytes: Uint8Array
}
