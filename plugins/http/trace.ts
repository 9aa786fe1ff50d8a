// W3C Trace Context: https://www.w3.org/TR/trace-context/
const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** Returns the trace id of a `traceparent` header, or null for one that is malformed; later versions may be longer. */
export function traceIdOf(header: string | readonly string[] | undefined): string | null {
  const [, version, traceId, more] = traceparent.exec(String(header)) ?? []
  return traceId === undefined || (version === '00' && more !== undefined) ? null : traceId
}
