// What the dials of a probe share.
import type { AgentCall, RulePath } from '../../agent/plugin.ts'
import type { ProbedTarget } from './wire.ts'

/** A part of what is known of a target. */
export type Seen = Omit<ProbedTarget, 'host' | 'port'>

/** What a probe shares: its limit, and what it may send. */
export interface Probe {
  readonly path: RulePath
  readonly call: AgentCall
  readonly sni: string | null
  readonly mayWrite: boolean
  readonly untilMs: number // of the monotonic clock
}

/** Names a failed dial as refusals and health do. */
export function errorOf({ code = '', syscall }: NodeJS.ErrnoException): string {
  if (syscall === 'bind' && code === 'EADDRNOTAVAIL') return 'source_unavailable'
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'connect_refused'
  if (code === 'EMFILE' || code === 'ENFILE') return 'descriptors'
  return code === 'ETIMEDOUT' ? 'connect_timeout' : 'unreachable'
}
