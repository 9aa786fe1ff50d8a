/** The reason of a failed dial: 'refused', 'timeout', 'unreachable', 'reset', 'source_unavailable', or the reason of the DNS answer. */
export interface DialFailure {
  readonly failure: string | null // null: not the target's fault
  readonly lack?: string | null // what this host has no more of: a reason of `Counters.rejected`
}

/** Names the failure of a dial; null for a lack of this host, which says nothing about the target. */
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

/** Names what this host has no more of, if that is why a dial failed. */
export function lackOf({ code = '', syscall }: NodeJS.ErrnoException): string | null {
  // node:dgram binds before it connects, to a port of the system's choice.
  const ofPorts = syscall === 'bind' ? 'EADDRINUSE' : 'EADDRNOTAVAIL'
  return code === ofPorts ? 'no_local_port' : (lacks[code] ?? null)
}
