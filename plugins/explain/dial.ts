// Shared by the dials of a probe.
import type { AgentCall, RulePath } from '../../agent/plugin.ts'
import type { ProbedTarget } from './wire.ts'

/** Partial results of a target. */
export type ProbeResult = Omit<ProbedTarget, 'host' | 'port'>

/** The context of a probe: its deadline, and what it may send. */
export interface Probe {
  readonly path: RulePath
  readonly call: AgentCall
  readonly sni: string | null
  readonly mayWrite: boolean
  readonly deadlineMs: number // monotonic
}

/** Returns the reason of a failed dial, as refusals and health use it. */
export function errorOf({ code = '', syscall }: NodeJS.ErrnoException): string {
  if (syscall === 'bind' && code === 'EADDRNOTAVAIL') return 'source_unavailable'
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'connect_refused'
  if (code === 'EMFILE' || code === 'ENFILE') return 'descriptors'
  return code === 'ETIMEDOUT' ? 'connect_timeout' : 'unreachable'
}
