import type { Clock } from '../../../kernel/base/clock.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { LinkEvents } from './link-events.ts'
import type { LinkContext } from './transport/tls-settings.ts'

/** The services of an agent that its links need. */
export interface LinkHost {
  readonly clientId: string
  readonly bind: readonly string[]
  readonly clock: Clock
  readonly log: Log
  readonly events: LinkEvents
  readonly random: () => number // in [0, 1)
  /** The current certificate of this agent. */
  readonly context: () => LinkContext
  /** Returns the addresses of a host; none if it has none now. */
  resolve(host: string): Promise<readonly string[]>
  /** Returns false if the guardrails deny the port. */
  mayListen(port: number): boolean
  /** Returns false if the guardrails deny this address of the host. */
  mayDial(address: string, port: number, host: string): boolean
}
