/** The reason of a failed dial: 'refused', 'timeout', 'unreachable', 'reset', 'source_unavailable', or the reason of the DNS answer. */
export interface DialFailure {
  readonly failure: string | null // null: not the target's fault
  readonly isLookup?: true // the name was not resolved
  readonly lack?: string | null // exhausted resource of this host: a reason of `Counters.rejected`
}

/** Returns the reason of a failed dial; null: this host lacks a resource, so the target may be healthy. */
export function failureOf(error: NodeJS.ErrnoException): string | null {
  const { code = '', syscall } = error
  if (lackOf(error) !== null) return null
  if (syscall === 'bind' && code === 'EADDRNOTAVAIL') return 'source_unavailable'
  if (code === 'ECONNREFUSED') return 'refused'
  if (code === 'ECONNRESET') return 'reset'
  return code === 'ETIMEDOUT' ? 'timeout' : 'unreachable'
}

const lacks: Readonly<Record<string, string>> = {
  EMFILE: 'descriptors',
  ENFILE: 'descriptors',
  ENOBUFS: 'no_memory',
  ENOMEM: 'no_memory'
}

/** Returns the exhausted resource of this host that made a dial fail, or null. */
export function lackOf({ code = '', syscall }: NodeJS.ErrnoException): string | null {
  // node:dgram binds before it connects, to a port of the system's choice.
  const portExhaustion = syscall === 'bind' ? 'EADDRINUSE' : 'EADDRNOTAVAIL'
  return code === portExhaustion ? 'no_local_port' : (lacks[code] ?? null)
}
