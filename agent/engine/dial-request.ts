// How an engine leaves the dial of a target to a plugin of the agent.
import { isIP } from 'node:net'
import type { SocketAddress } from './ended-connection.ts'
import { engineFault } from './engine-fault.ts'

/**
 * Asks for a connection to a target with a `dialer`. `Engine.dialed` answers it. The limits of a dial apply to the answer:
 * 30 s for a caller, 5 s for a probe.
 */
export interface DialRequest {
  readonly kind: 'dial'
  readonly token: number
  readonly ruleId: number
  readonly target: number // index in EngineRule.targets
  readonly offset: number // of the listen port in the range of the rule
  readonly caller: DialCaller | null // null: a health probe, which needs no stream
}

/** Nobody waits for the answer any longer: the caller has left, the time is over, or the rule was reset. */
export interface DialCanceled {
  readonly kind: 'dial-canceled'
  readonly token: number
}

export interface DialCaller {
  readonly source: SocketAddress // from the header, if there is a first read
  readonly listen: SocketAddress // that the caller connected to, from the header if it names it
  readonly serverName: string | null // the TLS name that the caller asks for, if the engine has read it
}

export type DialAnswer =
  /** The target's address, for lists and records. */
  | { readonly ok: true; readonly address: string; readonly port: number }
  /**
   * `reason`: at most 32 characters; use constants, since the engine keeps all names. A refusal counts in
   * `Counters.rejected` like that of a filter, and does not change the target's health. Any other reason is a failed dial.
   * Both lead to the next target.
   */
  | { readonly ok: false; readonly reason: string; readonly isRefusal: boolean }

/** Throws EngineFault EINVAL for an address or a reason that no engine accepts. */
export function checkDialAnswer(answer: DialAnswer): void {
  if (answer.ok) {
    if (isIP(answer.address) === 0)
      throw engineFault('EINVAL', `a dialed address must be an IP address, got ${answer.address}`)
    if (!Number.isInteger(answer.port) || answer.port < 1 || answer.port > 65_535)
      throw engineFault('EINVAL', `a dialed port must be 1 to 65535, got ${answer.port}`)
  } else if (!/^[a-z0-9_]{1,32}$/.test(answer.reason))
    throw engineFault('EINVAL', `a reason must have 1 to 32 characters a-z, 0-9 and _, got ${answer.reason}`)
}
