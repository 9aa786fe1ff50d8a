/** The reason of a failed dial: 'refused', 'timeout', 'unreachable', 'reset', 'source_unavailable', or the reason of the DNS answer. */
export interface DialFailure {
  readonly failure: string | null // null: not the target's fault
}

/** Names the failure of a dial; null for local errors, which say nothing about the target. */
export function failureOf({ code = '', syscall }: NodeJS.ErrnoException): string | null {
  if (syscall === 'bind' && code === 'EADDRNOTAVAIL') return 'source_unavailable'
  if (['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'].includes(code)) return null
  if (code === 'ECONNREFUSED') return 'refused'
  if (code === 'ECONNRESET') return 'reset'
  return code === 'ETIMEDOUT' ? 'timeout' : 'unreachable'
}
