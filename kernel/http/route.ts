import type { Readable } from 'node:stream'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../base/errors.ts'
import type { SlotReader } from '../slot.ts'
import type { Principal, RequestInfo } from './principal.ts'

/** In OpenAPI a schema with `$id` is a named one; `examples` of properties make the examples of bodies. */
export interface Schemas {
  readonly body?: TSchema
  readonly query?: TSchema
  readonly params?: TSchema
  readonly reply: TSchema
  /** What `run` refuses with, beyond what the host and the schemas do. Default: all codes of the plugin. */
  readonly errors?: readonly ErrorCode[]
}

export interface RouteDefinition<D, S extends Schemas = Schemas> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string // '/v1/...', or of the plugin's `prefix`; parameters as ':name'
  readonly action: string // 'client.rename'; in decisions, and the operation's id in OpenAPI
  readonly access: 'public' | 'user' | 'superadmin'
  readonly status?: 200 | 201 | 204 // default: 200
  readonly summary: string // one line for OpenAPI
  readonly description?: string // for OpenAPI: what the summary does not say
  /** 'deferred': the decision is written with the change, and gets its status when the client has answered. */
  readonly outcome?: 'deferred'
  /** Fields of the reply that hold secrets: a reply with one is not stored for repeated Idempotency-Keys. */
  readonly secrets?: readonly string[]
  /**
   * 'text': a string or a stream of one, sent as it is. 'constant': the same for all callers until the server stops; `run` is called once.
   * 'media': `run` returns `Media`.
   */
  readonly reply?: 'text' | 'constant' | 'media'
  /** Takes its body also from a form of a page: each field a string or a file, or an array where it is repeated. */
  readonly takesForm?: true
  /** The record that the reply of a GET shows. Its version is the ETag. */
  record?(params: Part<S, 'params'>, filled: SlotReader): Resource
  /** Called once, at mount. Extensible routes compose their schemas from slots. */
  schema(filled: SlotReader): S
  run(deps: D, call: Call<S>): Promise<Static<S['reply']>>
  /** Answers a repeated Idempotency-Key when the first reply was lost: the resource as it is now. */
  replay?(deps: D, call: Call<S>, resourceId: string): Promise<Static<S['reply']>>
}

export interface Route<D, S extends Schemas = Schemas> extends RouteDefinition<D, S> {
  readonly status: 200 | 201 | 204
  /** Set by defineList. */
  readonly isList?: true
  /** Set by defineStream. */
  readonly isStream?: true
}

export interface Call<S extends Schemas = Schemas> {
  readonly body: Part<S, 'body'>
  readonly query: Part<S, 'query'>
  readonly params: Part<S, 'params'>
  readonly principal: Principal
  readonly requestInfo: RequestInfo
  readonly requestId: string
  /** Aborted when the caller has disconnected; for a stream also when it has lost access. */
  readonly signal: AbortSignal
  /**
   * Runs `work` in one transaction together with the decision: every acknowledged change is recorded.
   * `of` is the changed resource, for the decision and for repeated Idempotency-Keys.
   */
  readonly change: <T>(of: Resource | ((made: T) => Resource), work: Work<T>) => Promise<T>
  readonly setCookie: (name: string, value: string, maxAgeSecs: number | 'clear') => void
}
export type Work<T> = (em: EntityManager) => Promise<T>
export interface Resource {
  readonly kind: string // 'client'
  readonly id: string
  /** Returns what changes with every change of the record, and only then: makes the ETag. Null: there is no record. */
  version?(em: EntityManager): Promise<number | readonly unknown[] | null>
  /** The same of what `work` has returned, where that tells it: then the store is not asked. */
  versionIn?(made: never): number | readonly unknown[]
  changes?(): readonly FieldChange[] // of its fields, for the decision; no secrets
}
export type FieldChange = { readonly field: string; readonly from: unknown; readonly to: unknown }
type Part<S extends Schemas, K extends keyof Schemas> =
  S extends Record<K, infer T extends TSchema> ? Static<T> : unknown

/** A reply that is not JSON: a page, a script, a picture, a file; or with 303 and `location` the way to one. */
export interface Media {
  readonly status?: number // default: that of the route
  readonly type: string // 'text/html; charset=utf-8'
  readonly body: string | Uint8Array | Readable
  /** Defaults: `Cache-Control: no-store`, and a Content-Security-Policy that allows only files of this server. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Infers S from `schema`, and D from the annotation in `run`. */
export function defineRoute<D, S extends Schemas>(route: RouteDefinition<D, S>): Route<D> {
  return { status: 200, ...route }
}
