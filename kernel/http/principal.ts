import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../slot.ts'

export type Role = 'superadmin' | 'user'

export interface Principal {
  readonly userId: string
  readonly role: Role
  readonly method: 'operator_token' | 'api_token' | 'session' | 'none'
}

/** Who calls, as the wire shows it: nothing here is believed yet. */
export interface RequestInfo {
  readonly method: string
  readonly path: string // without the query
  readonly authorization: string | undefined
  readonly cookies: Readonly<Record<string, string | undefined>>
  readonly originHeader: string | undefined
  /** Scheme and authority under which the caller sees this server; no trailing slash. */
  readonly ownOrigin: string
  readonly csrfHeader: string | undefined
  readonly contentType: string | undefined
  readonly hasBody: boolean
  readonly remoteAddr: string
}

/** A caller that is known, and what it still owes or may not do. */
export interface AuthenticatedCaller {
  readonly principal: Principal
  /** A credential that a browser sends by itself must prove that the page is ours. */
  readonly requires?: 'csrf'
  /** The only actions allowed; others are 403 `password_change_required`. */
  readonly allowedActions?: readonly string[]
}

/** Visit to caller; the first that knows it wins. Never asked where an Authorization header is present. */
export const authenticatorSlot =
  defineSlot<(visit: RequestInfo) => Promise<AuthenticatedCaller | null>>('kernel.authenticator')

/** What was asked, by whom, and what came of it. */
export interface Decision {
  readonly id: string // ULID
  readonly timestamp: number // ms
  readonly action: string
  readonly actor: string | null
  readonly role: Role | null
  readonly authMethod: Principal['method']
  readonly remoteAddr: string
  readonly method: string
  readonly path: string
  readonly resourceKind: string | null
  readonly resourceId: string | null
  readonly outcome: 'allow' | 'deny'
  readonly status: number | null // null: changed, the answer is still awaited
  readonly reason: string | null // the code of a refusal
  readonly requestId: string
}

export interface DecisionSink {
  /** In the transaction of the change where there is one. */
  write(decision: Decision, em: EntityManager): Promise<void>
  /** The answer that a decision with status null was waiting for. */
  complete(id: string, status: number, reason: string | null, em: EntityManager): Promise<void>
}

/** Told the outcome of every mutation and of every denial. */
export const decisionSlot = defineSlot<DecisionSink>('kernel.decision')
