// The last message of a stream that the server ends: why, and when the agent may come again.
import { Ended } from '../../../kernel/wire/control.ts'
import type { Stream } from '../../../kernel/wire/stream.ts'

export const endMessages = {
  token_revoked: 'the token of this agent was revoked',
  replaced: 'a newer stream of this client has taken over',
  instance_conflict: 'another agent uses the bundle of this client; enroll each under a name of its own',
  revision_implausible: 'the agent has revisions that this server did not give; connect again',
  flooding: 'this agent takes more of the server than its share',
  shutting_down: 'the server stops',
  store_restored: 'the store of the server was restored; connect again to be compared with it',
  full: 'too many agents connect at once'
} as const

/** `returnWithinMs`: undefined where the agent goes by its own delays. */
export function endStream({ channel, end }: Stream, reason: string, returnWithinMs?: number): void {
  const message = reason in endMessages ? endMessages[reason as keyof typeof endMessages] : reason
  const within = returnWithinMs === undefined ? {} : { retry_within_ms: returnWithinMs }
  channel.send(Ended, { code: reason, message, ...within })
  end(reason)
}
