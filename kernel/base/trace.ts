import { AsyncLocalStorage } from 'node:async_hooks'

/** A position in a trace of https://www.w3.org/TR/trace-context/. */
export interface Trace {
  readonly traceparent: string // 00-TRACE_ID-SPAN_ID-FLAGS, with the span around the work
  /** Begins a span within this one. Absent if nothing records the trace here. */
  startSpan?(name: string): Span
}

export interface Span extends Trace {
  end(result?: { attributes?: Readonly<Record<string, string | number>>; error?: unknown }): void
  /** Records the time that the other end of a stream took for its part, in the middle of this span: clocks may differ. */
  addRemote(name: string, ms: number): void
}

/** The trace of the current work. Log lines have its id, and messages of the control stream carry it. */
export const currentTrace = new AsyncLocalStorage<Trace>()

/** Runs `work` as a span of the current trace, if that is recorded. */
export function inSpan<T>(name: string, work: (span?: Span) => Promise<T>): Promise<T> {
  const span = currentTrace.getStore()?.startSpan?.(name)
  if (!span) return work()
  const result = currentTrace.run(span, work, span)
  const end = (error?: unknown): void => span.end({ error })
  result.then(() => end(), end)
  return result
}
