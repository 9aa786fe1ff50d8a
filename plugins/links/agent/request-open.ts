// The near client's request for a target, and its answer.
import type { Clock } from '../../../kernel/base/clock.ts'
import { decodeOpened, decodeReason, type Opened } from './transport/frame-bodies.ts'
import { type Frame, flag, frameType, ProtocolError } from './transport/frames.ts'
import type { LinkConnection } from './transport/link-connection.ts'

export interface Refusal {
  readonly reason: string
  readonly isRefusal: boolean // false: a failed dial
}

/** 'lost': the link connection ended before an answer. */
export type OpenOutcome = { readonly opened: Opened } | { readonly refused: Refusal } | 'lost'

interface Options {
  readonly payload: Buffer // of OPEN
  readonly flags: number
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Sends OPEN and waits for the answer. After 'opened' the connection holds what follows for its next user; after 'refused'
 * it is ready again. Without an answer in time, or if the signal aborts, it is closed.
 */
export function requestOpen(
  connection: LinkConnection,
  { payload, flags, timeoutMs, clock, signal }: Options
): Promise<OpenOutcome> {
  const { promise, resolve } = Promise.withResolvers<OpenOutcome>()
  const giveUp = (reason: string): void => {
    resolve({ refused: { reason, isRefusal: false } })
    connection.send(frameType.reset)
    connection.close()
  }
  const cancel = clock.after(timeoutMs, () => giveUp('timeout'))
  const abort = (): void => giveUp('canceled')
  connection.number += 1
  connection.use({
    received: frame => {
      const outcome = outcomeOf(frame, connection.number)
      if (outcome !== 'lost' && 'opened' in outcome) connection.hold()
      else connection.use(null)
      resolve(outcome)
    },
    closed: () => resolve('lost')
  })
  connection.send(frameType.open, payload, flags)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  return promise.finally(() => {
    void cancel()
    signal.removeEventListener('abort', abort)
  })
}

function outcomeOf({ type, flags, number, payload }: Frame, expected: number): OpenOutcome {
  if (number !== expected) throw new ProtocolError(`answer to ${number}`)
  if (type === frameType.opened) return { opened: decodeOpened(payload) }
  if (type === frameType.refused)
    return { refused: { reason: decodeReason(payload), isRefusal: flags === flag.refusal } }
  throw new ProtocolError(`frame type ${type} instead of an answer`)
}
