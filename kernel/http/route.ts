import type { Readable } from 'node:stream'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../base/errors.ts'
import type { SlotReader } from '../slot.ts'
import type { Principal, RequestInfo, Role } from './principal.ts'

/** A schema with `$id` is a named component in OpenAPI. `examples` of properties become examples of bodies. */
export interface Schemas {
  readonly body?: TSchema
  readonly query?: TSchema
  readonly params?: TSchema
  readonly reply: TSchema
  /** Errors of `run`, beyond those of the host and the schemas. Default: all codes of the plugin. */
  readonly errors?: readonly ErrorCode[]
}

export interface RouteDefinition<D, S extends Schemas = Schemas> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string // '/v1/...' or below the plugin's `prefix`; parameters are ':name'
  readonly action: string // 'client.rename'; in decisions, and the operation's id in OpenAPI
  readonly access: 'public' | 'self' | 'session' | Role // at least this role; 'self', 'session': for the own account, 'session' not with a token
  readonly needsFresh?: true // a session needs a recent proof of a factor
  readonly needsScope?: false // any token may call it; default: a token needs the scope of the action
  readonly reads?: true // although it is no GET: viewers and read scopes may call it, and only its changes are audited
  readonly status?: 200 | 201 | 204 | 302 // default: 200; a 204 with a `reply` that is a union with null is 200 with a value
  readonly summary: string // one line for OpenAPI
  readonly description?: string // for OpenAPI: details beyond the summary
  /** 'deferred': the decision is written with the change and gets its status once the client answers. */
  readonly outcome?: 'deferred'
  /** Fields of the reply with secrets. Such a reply is not stored for repeated Idempotency-Keys. */
  readonly secrets?: readonly string[]
  /** 'text': `run` returns a string or a stream of text; 'media': `Media`. 'constant': `run` is called once, for all callers. */
  readonly reply?: 'text' | 'constant' | 'media'
  csv?(reply: Static<S['reply']>): string // for callers with `Accept: text/csv`
  /** Also accepts a form. Fields are strings or files, or arrays of them if repeated. */
  readonly takesForm?: true
  readonly bodyBytes?: number // maximum size of the body, at most 1 MiB; default: 64 KiB, for public routes 8 KiB
  /** Returns the record that a GET shows. Its version is the ETag. */
  record?(params: Part<S, 'params'>, filled: SlotReader): Resource
  /** Called once, at mount. Extensible routes build their schemas from slots. */
  schema(filled: SlotReader): S
  run(deps: D, call: Call<S>): Promise<Static<S['reply']>>
  /** True for a request that changes nothing, such as a dry run: it is neither audited nor stored for its Idempotency-Key. With `reads`: false needs the write scope. */
  isTrial?(call: Pick<Call<S>, 'query' | 'body'>): boolean
  /** Answers a repeated Idempotency-Key, if the first reply was lost, with the current resource. */
  replay?(deps: D, call: Call<S>, resourceId: string): Promise<Static<S['reply']>>
}

export interface Route<D, S extends Schemas = Schemas> extends RouteDefinition<D, S> {
  readonly status: 200 | 201 | 204 | 302
  readonly isList?: true // set by defineList
  readonly isStream?: true // set by defineStream
}

export interface Call<S extends Schemas = Schemas> {
  readonly body: Part<S, 'body'>
  readonly query: Part<S, 'query'>
  readonly params: Part<S, 'params'>
  readonly principal: Principal
  readonly requestInfo: RequestInfo
  readonly requestId: string
  /** Aborted when the caller disconnects; for streams also when it loses access. */
  readonly signal: AbortSignal
  /**
   * Runs `work` and records its decision in one transaction, so that every acknowledged change is recorded. `of` is the
   * changed resource, for the decision and for repeated Idempotency-Keys.
   */
  readonly change: <T>(of: Resource | ((made: T) => Resource), work: Work<T>) => Promise<T>
  readonly setCookie: (name: string, value: string, maxAgeSecs: number | 'clear') => void
}
export type Work<T> = (em: EntityManager) => Promise<T>
export interface Resource {
  readonly kind: string // 'client'
  readonly id: string
  /** Returns a value that changes exactly when the record does, for the ETag; null if there is no record. */
  version?(em: EntityManager): Promise<number | readonly unknown[] | null>
  /** Returns the version from the result of `work`, to save a read. */
  versionIn?(made: never): number | readonly unknown[]
  changes?(): readonly FieldChange[] // of fields, for the decision; no secrets
}
export type FieldChange = { readonly field: string; readonly from: unknown; readonly to: unknown }
type Part<S extends Schemas, K extends keyof Schemas> =
  S extends Record<K, infer T extends TSchema> ? Static<T> : unknown

/** A reply that is not JSON: a page, script, picture or file, or a 302 or 303 with `location`. */
export interface Media {
  readonly status?: number // default: that of the route
  readonly type: string // 'text/html; charset=utf-8'
  readonly body: string | Uint8Array | Readable
  /** Defaults: `Cache-Control: no-store`, and a Content-Security-Policy for files of this server only. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Infers S from `schema`, and D from the annotation in `run`. */
export function defineRoute<D, S extends Schemas>(route: RouteDefinition<D, S>): Route<D> {
  return { status: 200, ...route }
}
