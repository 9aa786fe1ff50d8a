import { Fault, listenFailed } from '../../../kernel/base/errors.ts'
import { parseListen } from '../../../kernel/platform/listen-fault.ts'

/** An address to listen on, with the key that wants it, such as `metrics_listen`. */
export interface Listen {
  readonly key: string
  readonly text: string // 'HOST:PORT'
}

/** Returns the addresses in validated top-level keys. */
export const listensIn = (keys: Readonly<Record<string, unknown>>): Listen[] =>
  Object.entries(keys).flatMap(([key, text]) =>
    key.endsWith('_listen') && typeof text === 'string' ? [{ key, text }] : []
  )

/** Throws Fault if two keys want the same port of one address. */
export function requireDistinctListens(listens: readonly Listen[]): void {
  for (const [at, one] of listens.entries())
    for (const other of listens.slice(at + 1))
      if (overlap(one.text, other.text))
        throw new Fault(
          listenFailed,
          `${one.key} ${one.text} and ${other.key} ${other.text} want the same port; give one of them another port`
        )
}

/** Returns whether only one process can listen on both addresses. For port 0 the system chooses. */
export function overlap(one: string, other: string): boolean {
  const a = parseListen(one)
  const b = parseListen(other)
  if (a.port !== b.port || a.port === 0) return false
  return a.host === b.host || covers(a.host, b.host) || covers(b.host, a.host)
}

/** `::` listens on IPv4, too. */
const covers = (any: string, host: string): boolean =>
  any === '::' || (any === '0.0.0.0' && !host.includes(':'))
