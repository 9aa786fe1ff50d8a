/** Why a target was not reached: 'refused', 'timeout', 'unreachable', 'reset', or the reason of the DNS answer. */
export interface DialFailure {
  readonly failure: string | null // null: it says nothing about the target
}

/** Names the failure of a dial. Null for errors of this machine. */
export function failureOf({ code = '' }: NodeJS.ErrnoException): string | null {
  if (['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'].includes(code)) return null
  if (code === 'ECONNREFUSED') return 'refused'
  if (code === 'ECONNRESET') return 'reset'
  return code === 'ETIMEDOUT' ? 'timeout' : 'unreachable'
}
