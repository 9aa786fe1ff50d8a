// Spans as OTLP/HTTP in JSON has them, https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.

export interface RecordedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | null
  readonly kind: keyof typeof kinds
  readonly startMs: number // Unix time
  readonly endMs: number
  readonly attributes: Attributes
  readonly errorType: string | null
  readonly payer: string // the user or network that caused the work; not sent
}

type Attributes = Readonly<Record<string, string | number>>

const kinds = { internal: 1, server: 2, client: 3 }
const failed = 2

/** Returns the body of a request for spans of one server. */
export const otlpJson = (spans: readonly RecordedSpan[], resource: Attributes): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: 'sluice' }, spans: spans.map(toSpan) }]
      }
    ]
  })

const toSpan = ({ traceId, spanId, parentId, errorType, ...span }: RecordedSpan) => ({
  traceId,
  spanId,
  ...(parentId !== null && { parentSpanId: parentId }),
  name: span.name,
  kind: kinds[span.kind],
  startTimeUnixNano: nanosOf(span.startMs),
  endTimeUnixNano: nanosOf(span.endMs),
  attributes: toAttributes({ ...span.attributes, ...(errorType !== null && { 'error.type': errorType }) }),
  ...(errorType !== null && { status: { code: failed } })
})

const toAttributes = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value }
  }))

/** 64-bit numbers are texts in JSON. */
const nanosOf = (ms: number): string => `${BigInt(Math.round(ms * 1000)) * 1000n}`
