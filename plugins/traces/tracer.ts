// Makes the spans of sampled traces.
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../kernel/base/clock.ts'
import { currentPayer } from '../../kernel/base/request-id.ts'
import type { Span } from '../../kernel/base/trace.ts'
import { isSampled, type Tracer } from '../http/exports.ts'
import { errorTypeOf } from './error-type.ts'
import type { RecordedSpan } from './otlp-json.ts'
import type { Settings } from './settings.ts'

interface Deps {
  readonly config: Settings
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly exporter: { add(span: RecordedSpan): void }
}

/** Times of one trace: by the wall clock at its begin, so that setting the clock changes no duration. */
type Time = () => number

/** Node keeps random bytes for UUIDs in advance; `randomBytes` would make a system call for each id. */
const newTraceId = (): string => randomUUID().replaceAll('-', '')
const newSpanId = (): string => newTraceId().slice(0, 16)

export function openTracer({ config, clock, exporter }: Deps): Tracer {
  const record = (span: RecordedSpan): void => exporter.add(span)
  return {
    begin(name, traceparent) {
      if (config.otlp_endpoint === undefined) return null
      if (traceparent === null ? Math.random() >= config.otlp_ratio : !isSampled(traceparent)) return null
      const [, traceId = '', parentId = null] = traceparent?.split('-') ?? ['', newTraceId()]
      const offset = clock.now() - clock.monotonic()
      return startSpan({ name, traceId, parentId, kind: 'server' }, () => offset + clock.monotonic(), record)
    }
  }
}

type Given = Pick<RecordedSpan, 'name' | 'traceId' | 'parentId' | 'kind'>

function startSpan(given: Given, time: Time, record: (span: RecordedSpan) => void): Span {
  const spanId = newSpanId()
  const { traceId } = given
  const startMs = time()
  const child = (name: string): Given => ({ name, traceId, parentId: spanId, kind: 'internal' })
  const payer = (): string => currentPayer.getStore()?.name ?? ''
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    startSpan: name => startSpan(child(name), time, record),
    addRemote(name, ms) {
      const endMs = time()
      const waitedMs = Math.max(0, endMs - startMs - ms) / 2
      const times = { startMs: startMs + waitedMs, endMs: endMs - waitedMs }
      record({
        ...child(name),
        ...times,
        spanId: newSpanId(),
        attributes: {},
        errorType: null,
        payer: payer()
      })
    },
    end({ attributes = {}, error } = {}) {
      const errorType = error === undefined ? null : errorTypeOf(error)
      record({ ...given, spanId, startMs, endMs: time(), attributes, errorType, payer: payer() })
    }
  }
}
