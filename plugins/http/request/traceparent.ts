// The header `traceparent` of W3C Trace Context, https://www.w3.org/TR/trace-context/.

const format = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Returns the header as version 00 has it, or null if it is absent or malformed. Later versions can be longer. */
export function parseTraceparent(header: string | readonly string[] | undefined): string | null {
  const [, version, ids, flags = '', more] = format.exec(String(header)) ?? []
  if (ids === undefined || (version === '00' && more !== undefined)) return null
  return `00-${ids}-0${Number.parseInt(flags, 16) & 1}`
}

/** True if the caller records the trace. */
export const isSampled = (traceparent: string): boolean => traceparent.endsWith('1')

export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35)
