// Ends a stream with a last message: the reason, and when the agent may return.
import { Ended } from '../../../kernel/wire/control.ts'
import type { Stream } from '../../../kernel/wire/stream.ts'

export const endMessages = {
  token_revoked: 'the token of this agent was revoked',
  replaced: 'a newer stream of this client has replaced this one',
  instance_conflict: 'another agent uses the bundle of this client; enroll each agent under its own name',
  revision_implausible: 'the agent has revisions that this server never gave; connect again',
  flooding: 'this agent uses more than its share of the server',
  shutting_down: 'the server stops',
  store_restored: 'the store of the server was restored; connect again to be compared with it',
  full: 'too many agents connect at once'
} as const

/** Without `returnWithinMs` the agent uses its own delays. */
export function endStream({ channel, end }: Stream, reason: string, returnWithinMs?: number): void {
  const message = reason in endMessages ? endMessages[reason as keyof typeof endMessages] : reason
  const within = returnWithinMs === undefined ? {} : { retry_within_ms: returnWithinMs }
  channel.send(Ended, { code: reason, message, ...within })
  end(reason)
}
