// The contract of plugins that dial targets for the engine, or for other agents. They import it from agent/plugin.ts.
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { DialFrom } from '../engine/dial-from.ts'
import type { DialAnswer, DialCaller } from '../engine/dial-request.ts'
import type { EngineTarget, Filter } from '../engine/engine.ts'
import type { RuleSpec } from './contract.ts'
import type { DialTiming } from './dial-timing.ts'

/** A target to dial: its rule has a plan that names the plugin as the target's `dialer`. */
export interface TargetDial {
  readonly rule: RuleSpec
  readonly target: number // index in the targets of the plan
  readonly planned: EngineTarget // as the plan has it: with its `path`
  readonly offset: number // of the listen port in the range of the rule
  readonly caller: DialCaller | null // null: a probe; after a success only `cancel` is called
  /** Aborted when nobody waits for the answer any longer, and 10 s after the call. The answer is then ignored. */
  readonly signal: AbortSignal
}

/**
 * A connection that the plugin has made, or the reason why it has none, see `DialAnswer`: at most 32 characters a-z, 0-9
 * and _. Use constants: after 64 reasons, further ones count as 'dial_failed'.
 */
export type Dialed = DialedConnection | Extract<DialAnswer, { readonly ok: false }>

/** Exactly one of its methods is called, once. */
export interface DialedConnection {
  readonly ok: true
  readonly address: string // of the target, for lists and records
  readonly port: number
  readonly timing?: DialTiming // absent: unknown
  /** Gives the plugin the target's end of the caller's connection, see `Engine.dialed`. */
  carry(stream: Duplex): void
  /** The connection is not needed. */
  cancel(): void
}

/**
 * Dials a target as the engine would, for a caller of another agent: same names, guardrails and limits. Never rejects. Takes
 * at most 4 s, the look-up of the name included. The socket has `allowHalfOpen`, and one descriptor of the owner's share
 * until it closes.
 */
export type AgentDial = (
  target: Pick<EngineTarget, 'host' | 'port'>,
  options: AgentDialOptions
) => Promise<AgentDialed>

export interface AgentDialOptions {
  readonly owner: string // of the rule
  readonly preferIpv6: boolean
  readonly dialFrom?: DialFrom | null // null: the system chooses
  /** Besides the guardrails. If they deny all addresses, the reason of the first that denies one is a refusal. */
  readonly filters?: readonly Filter[]
  readonly loopPorts?: readonly number[] // of this machine, besides listeners of rules: a dial to one is a 'loop'
  readonly signal: AbortSignal // aborts the dial: 'canceled'
}

export type AgentDialed =
  | {
      readonly socket: Socket
      readonly address: string // that was dialed
      readonly dnsMs: number
      readonly connectMs: number
    }
  /**
   * 'denied_by_exit': the guardrails forbid all addresses. 'loop': the target is a listener of this agent. 'descriptors',
   * 'no_memory' or 'no_local_port': this host lacks something. 'dns_overloaded': too many lookups wait. 'canceled': by the
   * signal. These are refusals. Otherwise a reason of 'target-health', or 'dns_' and one of `Resolved`.
   */
  | { readonly failure: string; readonly isRefusal: boolean }

/** The permissions of this agent as exit or relay of other clients, from its configuration. A reload can change them. */
export interface AgentExits {
  /** Returns true if the agent serves this entry: its `allow_exit`, and its `exit_entries` by id or name. */
  allows(entryId: string, entryName: string): boolean
}
