// Types of the operations of the API, from its OpenAPI document. Nothing here exists when a command runs.
import type { paths } from '../../config/operator-api.ts'
import type { Fault } from '../../kernel/base/errors.ts'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** 'GET /v1/rules/{rule_id}' */
type Name = {
  [P in keyof paths & string]: {
    [M in Method]: paths[P][M] extends { responses: object } ? `${Uppercase<M>} ${P}` : never
  }[Method]
}[keyof paths & string]

type Found<N extends Name> = N extends `${infer M} ${infer P}`
  ? P extends keyof paths
    ? Lowercase<M> extends keyof paths[P]
      ? paths[P][Lowercase<M>]
      : never
    : never
  : never

type PathOf<O> = O extends { parameters: { path: infer P extends object } } ? { readonly path: P } : object
type QueryOf<O> = O extends { parameters: { query: infer Q extends object } }
  ? { readonly query: Optional<Q> }
  : O extends { parameters: { query?: infer Q extends object } }
    ? { readonly query?: Optional<Q> }
    : object
type BodyOf<O> = O extends { requestBody: { content: { 'application/json': infer B } } }
  ? { readonly body: Optional<B> }
  : O extends { requestBody?: { content: { 'application/json': infer B } } }
    ? { readonly body?: Optional<B> }
    : object

/** Arguments that were not given are undefined, and not sent. */
type Optional<T> = T extends readonly unknown[]
  ? { [K in keyof T]: Optional<T[K]> }
  : T extends object
    ? { [K in keyof T]: undefined extends T[K] ? Optional<T[K]> | undefined : Optional<T[K]> }
    : T

interface ErrorText {
  readonly code: string
  readonly message: string
}

interface Headers {
  readonly headers?: Readonly<Record<string, string>> // If-Match
}

type Parts<O> = PathOf<O> & QueryOf<O> & BodyOf<O> & Headers

type Arguments<N extends Name> =
  object extends Parts<Found<N>> ? [parts?: Parts<Found<N>>] : [parts: Parts<Found<N>>]

type ReplyOf<O> = O extends { responses: { 200: { content: { 'application/json': infer R } } } }
  ? R
  : O extends { responses: { 201: { content: { 'application/json': infer R } } } }
    ? R
    : undefined

declare module '../../kernel/cli/command.ts' {
  interface Api {
    /** Sends the request of an operation: its `path`, `query`, `body` and `headers`, as far as it has them. */
    call<N extends Name>(operation: N, ...parts: Arguments<N>): Promise<ReplyOf<Found<N>>>
    /** Returns the error of one of several answers in a response, as if it were the response. */
    refusal(status: number, error: ErrorText): Promise<Fault>
    /** Reads all pages of a list. */
    rows<N extends Name>(operation: N, ...parts: Arguments<N>): Promise<ReplyOf<Found<N>>>
  }
}
