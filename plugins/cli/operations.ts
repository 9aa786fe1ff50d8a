// Types the API calls of commands by operation. This file has no code at run time.

import type { Fault } from '../../kernel/base/errors.ts'
import type { Arguments, EventOn, Found, Name, Parts, ReplyTo } from '../../kernel/platform/api/operations.ts'

interface ErrorText {
  readonly code: string
  readonly message: string
}

declare module '../../kernel/cli/command.ts' {
  interface Api {
    readonly origin: string
    /** Sends the request of an operation, with the `path`, `query`, `body` and `headers` that it has. */
    call<N extends Name>(operation: N, ...parts: Arguments<N>): Promise<ReplyTo<Found<N>>>
    /** Returns the Fault for one error in a batch reply, as if it were the whole reply. */
    refusal(status: number, error: ErrorText): Promise<Fault>
    /** Reads the events of a stream until the server ends the stream or the signal aborts. */
    events<N extends Name>(
      operation: N,
      parts: Parts<Found<N>>,
      signal: AbortSignal
    ): AsyncIterable<EventOn<Found<N>>>
    /** Reads all pages of a list. */
    rows<N extends Name>(operation: N, ...parts: Arguments<N>): Promise<ReplyTo<Found<N>>>
  }
}
