// The calls of commands, with the types of the operations. Nothing here exists when a command runs.

import type { Fault } from '../../kernel/base/errors.ts'
import type { Arguments, EventOn, Found, Name, Parts, ReplyTo } from '../../kernel/platform/api/operations.ts'

interface ErrorText {
  readonly code: string
  readonly message: string
}

declare module '../../kernel/cli/command.ts' {
  interface Api {
    readonly origin: string
    /** Sends the request of an operation: its `path`, `query`, `body` and `headers`, as far as it has them. */
    call<N extends Name>(operation: N, ...parts: Arguments<N>): Promise<ReplyTo<Found<N>>>
    /** Returns the error of one of several answers in a response, as if it were the response. */
    refusal(status: number, error: ErrorText): Promise<Fault>
    /** Reads the events of a stream until the server ends it, or the signal aborts. */
    events<N extends Name>(
      operation: N,
      parts: Parts<Found<N>>,
      signal: AbortSignal
    ): AsyncIterable<EventOn<Found<N>>>
    /** Reads all pages of a list. */
    rows<N extends Name>(operation: N, ...parts: Arguments<N>): Promise<ReplyTo<Found<N>>>
  }
}
