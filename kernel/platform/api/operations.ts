// Types of the API operations, generated from its OpenAPI document. Commands and the console use them.
import type { Operations } from './operator-api.ts'

/** 'GET /v1/rules/{rule_id}' */
export type Name = keyof Operations

export type Found<N extends Name> = Operations[N]

/** A missing argument is undefined and is not sent. */
type Optional<T> = T extends readonly unknown[]
  ? { [K in keyof T]: Optional<T[K]> }
  : T extends object
    ? { [K in keyof T]: undefined extends T[K] ? Optional<T[K]> | undefined : Optional<T[K]> }
    : T

export type EventOn<O> = O extends { event: infer E } ? E : never

interface Headers {
  readonly headers?: Readonly<Record<string, string>> // If-Match
}

/** The path, query and body of an operation, if it has them. */
export type Parts<O> = O extends { parts: infer P } ? Readonly<Optional<P>> & Headers : Headers

export type Arguments<N extends Name> =
  object extends Parts<Found<N>> ? [parts?: Parts<Found<N>>] : [parts: Parts<Found<N>>]

export type ReplyTo<O> = O extends { reply: infer R } ? R : never
