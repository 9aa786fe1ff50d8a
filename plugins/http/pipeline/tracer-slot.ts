import type { Span } from '../../../kernel/base/trace.ts'
import { defineSlot, type SlotReader } from '../../../kernel/slot.ts'

export interface Tracer {
  /** Begins a span within the one of a `traceparent`, or in a new trace. Returns null if the trace is not sampled. */
  begin(name: string, traceparent: string | null): Span | null
}

/** Returns the tracer, if a plugin has one. The service `findTracer`, for work without a request. */
export type FindTracer = () => Tracer | undefined

/** At most one plugin fills it. Without it, requests have the trace of their caller, and nothing is recorded. */
export const tracerSlot = defineSlot<Tracer>('http.tracer', { keyOf: () => '' })

export const openFindTracer =
  ({ filled }: { readonly filled: SlotReader }): FindTracer =>
  () =>
    filled(tracerSlot)[0]?.value
