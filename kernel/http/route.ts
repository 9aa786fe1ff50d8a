import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import type { SlotReader } from '../slot.ts'
import type { Principal, RequestInfo } from './principal.ts'

export interface Schemas {
  readonly body?: TSchema
  readonly query?: TSchema
  readonly params?: TSchema
  readonly reply: TSchema
}

export interface Route<D, S extends Schemas = Schemas> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string // '/v1/...', parameters as ':name'
  readonly action: string // 'client.rename'; what the guard writes down, and the operation's id in OpenAPI
  readonly access: 'public' | 'user' | 'superadmin'
  readonly status: 200 | 201 | 204
  readonly summary: string // one line for OpenAPI
  /** 'waits': the change is written down with no status, and completed with the answer of a client. */
  readonly outcome?: 'deferred'
  /** 'secret': the reply is never kept for a repeated Idempotency-Key. 'text': it is a string, sent as it is. */
  readonly reply?: 'secret' | 'text'
  /** Called once, at mount: a route of an extensible plugin composes its schemas from its slots. */
  schema(filled: SlotReader): S
  run(deps: D, call: Call<S>): Promise<Static<S['reply']>>
  /** What a repeated key sees when the first answer was lost: the resource as it is now. */
  replay?(deps: D, call: Call<S>, resourceId: string): Promise<Static<S['reply']>>
  /** Set by defineList: the reply is cut to a page by the host. */
  readonly isList?: true
  /** Set by defineStream: the reply is sent event by event. */
  readonly isStream?: true
}

export interface Call<S extends Schemas = Schemas> {
  readonly body: Part<S, 'body'>
  readonly query: Part<S, 'query'>
  readonly params: Part<S, 'params'>
  readonly principal: Principal
  readonly requestInfo: RequestInfo
  readonly requestId: string
  /** Aborted when the caller has gone; of a stream also when it has lost access. */
  readonly signal: AbortSignal
  /**
   * One transaction, and the guard's decision in it: a change that is acknowledged is also written down.
   * `of` names the resource that was changed, for the record and for a repeated Idempotency-Key.
   */
  readonly change: <T>(of: Resource | ((made: T) => Resource), work: Work<T>) => Promise<T>
  readonly setCookie: (name: string, value: string, maxAgeSecs: number | 'clear') => void
}
export type Work<T> = (em: EntityManager) => Promise<T>
export interface Resource {
  readonly kind: string // 'client'
  readonly id: string
}
type Part<S extends Schemas, K extends keyof Schemas> =
  S extends Record<K, infer T extends TSchema> ? Static<T> : unknown

/** Exists for its inference: S from `schema`, D from the annotation in `run`. */
export function defineRoute<D, S extends Schemas>(route: Route<D, S>): Route<D> {
  return route
}
