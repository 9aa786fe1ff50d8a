// Types of the operations of the API, from its OpenAPI document: commands and the pages of the console call by them.
import type { paths } from './operator-api.ts'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** 'GET /v1/rules/{rule_id}' */
export type Name = {
  [P in keyof paths & string]: {
    [M in Method]: paths[P][M] extends { responses: object } ? `${Uppercase<M>} ${P}` : never
  }[Method]
}[keyof paths & string]

export type Found<N extends Name> = N extends `${infer M} ${infer P}`
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

export type EventOf<O> = O extends { responses: { 200: { content: { 'text/event-stream': infer E } } } }
  ? E
  : never

interface Headers {
  readonly headers?: Readonly<Record<string, string>> // If-Match
}

export type Parts<O> = PathOf<O> & QueryOf<O> & BodyOf<O> & Headers

export type Arguments<N extends Name> =
  object extends Parts<Found<N>> ? [parts?: Parts<Found<N>>] : [parts: Parts<Found<N>>]

export type ReplyOf<O> = O extends { responses: { 200: { content: { 'application/json': infer R } } } }
  ? R
  : O extends { responses: { 201: { content: { 'application/json': infer R } } } }
    ? R
    : undefined
