// What the addon looks like from JavaScript: src/napi.cc and src/plain.cc have the other side.
import type { Budget, EngineRule, Filters, Meter, Resolved } from '../agent/engine.ts'

export interface NativeModule {
  readonly NativeEngine: new (
    options: { readonly bind: readonly string[]; readonly threads: number; readonly splice: boolean },
    onEvents: (batch: readonly NativeEvent[]) => void
  ) => NativeEngine
}

/** Every call is answered at once; what fails throws an error with a `code`. */
export interface NativeEngine {
  open(rule: EngineRule): void
  /** The port is shut when it returns. */
  close(ruleId: number, drainMs: number): void
  filter(ruleId: number, filters: Filters): void
  meter(id: number, meter: Meter): void
  budget(meterId: number, budget: Budget | null): void
  unmeter(id: number): void
  resolved(token: number, answer: Resolved): void
  sample(): Float64Array
  /** By number; the list only grows. */
  reasons(): readonly string[]
  /** Tells what is left to tell before it returns. */
  stop(): void
}

/** In the order of `Event::Kind`. */
export const eventKinds = [
  'resolve',
  'closed',
  'dns-failed',
  'flow-evicted',
  'target-health',
  'meter-empty',
  'splice-selected',
  'splice-unsupported',
  'pipe-size'
] as const

/** Of every kind; what a kind does not use is empty. */
export interface NativeEvent {
  readonly kind: number
  readonly id: number
  readonly target: number
  readonly number: number
  readonly other: number
  readonly words: string
  readonly reason: string
  readonly from: number
  readonly to: number
  readonly counters?: Float64Array
}
