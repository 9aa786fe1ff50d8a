// The addon's interface as JavaScript sees it; src/napi.cc and src/napi-convert.cc implement it.

import type { DialAnswer } from '../agent/engine/dial-request.ts'
import type { Budget, EngineRule, Filters, Meter, Resolved } from '../agent/engine/engine.ts'
import type { ConnectionQuery, ConnectionSelection } from '../agent/engine/open-connection.ts'

interface NativeConnections {
  readonly row: Float64Array
  readonly text: string
}

export interface NativeModule {
  readonly NativeEngine: new (
    options: {
      readonly bind: readonly string[]
      readonly threads: number
      readonly splice: boolean
      readonly deadPeerMs: number
    },
    onEvents: (batch: readonly NativeEvent[]) => void
  ) => NativeEngine
  /** Returns free memory of malloc and pages of program files to the system; the files stay in the page cache. */
  giveBackMemory(): void
  /**
   * Sends a datagram to a Unix socket: a path from / on, or @ and the name of an abstract socket. Never blocks. Returns ''
   * or the name of an errno: 'EAGAIN' if the receiver's queue is full.
   */
  notify(address: string, text: string): string
}

/** All calls are synchronous. Failures throw an error with a `code` of `EngineFault`. */
export interface NativeEngine {
  /** Binds the ports; callers wait in the queues of the listeners until `serveOpened`. */
  open(rule: EngineRule & { readonly replaces: number | undefined }): void
  /** Starts to accept callers on all opened rules, at the same moment. */
  serveOpened(): void
  /** The port no longer listens when this returns. A negative drain time means no deadline. */
  close(ruleId: number, drainMs: number): void
  resetTargets(ruleId: number, targets: readonly number[]): void
  /** Ends connections and flows outside the ports `from` to `to`; all if `from` is above `to`. */
  reset(ruleId: number, from: number, to: number): void
  setFilters(ruleId: number, filters: Filters): void
  changeAddresses(name: string, add: readonly string[], remove: readonly string[]): void
  /** Returns the number of the reason; 0: no guard refuses the address. */
  guardRefusal(ruleId: number, address: string): number
  /** Returns the name of the divert; '': none. */
  divertOf(ruleId: number, address: string): string
  setWeights(ruleId: number, weights: readonly number[]): void
  setShares(ruleId: number, shares: readonly number[]): void
  setMeter(id: number, meter: Meter): void
  setBudget(meterId: number, budget: Budget | null): void
  removeMeter(id: number): void
  resolved(token: number, answer: Resolved): void
  /** A 'dialed' event follows, unless the engine stops before. */
  dialed(token: number, answer: DialAnswer): void
  /** Lets the engine find a reset when the socket of this dial is closed. */
  resetStream(token: number): void
  /** Returns true if the engine has reset the stream: the end of its bytes is then no end. */
  isStreamReset(token: number): boolean
  /** Called when the socket of this dial has closed. */
  releaseStream(token: number): void
  sample(): Float64Array
  /** `sortIndex`: place in `connectionSorts`. `row` and `text` as native/sample.ts reads them. */
  connections(query: ConnectionQuery & { readonly sortIndex: number }): NativeConnections
  endConnections(selection: ConnectionSelection): number
  reserveDescriptor(owner: string): number // 0: none is left
  releaseDescriptor(reservation: number): void
  /** The names of rejection reasons, indexed by number. The list only grows. */
  reasons(): readonly string[]
  /** Delivers the remaining events before it returns. */
  stop(): void
}

/** Event kinds, in the order of `EngineEvent::Kind`. */
export const eventKinds = [
  'resolve',
  'closed',
  'dns-failed',
  'flow-evicted',
  'target-health',
  'meter-empty',
  'splice-selected',
  'splice-unsupported',
  'pipe-size',
  'connections-ended',
  'source-over',
  'flow-redialed',
  'dial',
  'dial-canceled',
  'dialed',
  'stream-reset'
] as const

/** One shape for all kinds; fields that a kind does not use are empty or 0. */
export interface NativeEvent {
  readonly kind: number
  readonly id: number
  readonly target: number
  readonly value: number
  readonly otherValue: number
  readonly text: string
  readonly reason: string
  readonly from: number
  readonly to: number
  readonly row?: Float64Array
}
