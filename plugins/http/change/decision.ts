import type { EntityManager } from '@mikro-orm/sql'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Principal, Role } from '../../../kernel/http/principal.ts'
import type { Call, FieldChange, Resource } from '../../../kernel/http/route.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { defineSlot, type SlotReader } from '../../../kernel/slot.ts'
import { bootstrapRequired } from '../codes.ts'
import { withoutVeto } from './without-veto.ts'

/** An audited action: its actor, resource and outcome. */
export interface Decision {
  readonly id: string // ULID
  readonly timestamp: number // ms
  readonly action: string
  readonly actor: string | null
  readonly role: Role | null
  readonly authMethod: Principal['method']
  readonly remoteAddr: string | null // null without a request; method and path are then empty
  readonly method: string
  readonly path: string
  readonly resourceKind: string | null
  readonly resourceId: string | null
  readonly resourceName: string | null // if resources of its kind have names
  readonly outcome: 'allow' | 'deny'
  readonly status: number | null // null: changed, and the client's answer is pending
  readonly reason: string | null // the code of a refusal
  readonly changes: readonly FieldChange[] | null // of the resource's fields, if known; bounded
  readonly requestId: string
}

/** Records decisions. */
export interface DecisionSink {
  /** Writes the decision, in the transaction of the change if there is one. */
  write(decision: Decision, em: EntityManager): Promise<void>
  /** Sets the status of a decision that was written with a null status. */
  complete(id: string, status: number, reason: string | null, em: EntityManager): Promise<void>
}

/**
 * Sinks receive the decision on every mutation and every denial. They cannot prevent a change: what they throw is logged and
 * counted, and only their own writes are rolled back.
 */
export const decisionSlot = defineSlot<DecisionSink>('http.decision')

/** Sinks of built-in plugins, such as the audit log. A change that they fail to record is not made. */
export const requiredDecisionSlot = defineSlot<DecisionSink>('http.required-decision')

/** The resource of a change, with more for its decision. */
export interface NamedResource extends Resource {
  name?(): string | null // beside its id
  readonly refusal?: ErrorCode // the request is refused with this code, although its change commits
}

interface Made
  extends Omit<Decision, 'id' | 'resourceKind' | 'resourceId' | 'resourceName' | 'outcome' | 'changes'> {
  readonly resource: NamedResource | null
}

export const decisionOf = ({ resource, ...made }: Made): Decision => ({
  ...made,
  id: newId(made.timestamp),
  resourceKind: resource?.kind ?? null,
  resourceId: resource?.id ?? null,
  resourceName: resource?.name?.() ?? null,
  changes: boundedChanges(resource?.changes?.() ?? null),
  outcome: isDenial(made.status, made.reason) ? 'deny' : 'allow'
})

/** Returns the decision about a request or a part of one. */
export function decisionAbout(
  { principal, requestInfo, requestId }: Pick<Call, 'principal' | 'requestInfo' | 'requestId'>,
  about: Pick<Made, 'action' | 'resource' | 'status' | 'reason' | 'timestamp'>
): Decision {
  const isAuthenticated = principal.method !== 'none'
  return decisionOf({
    ...about,
    actor: isAuthenticated ? principal.userId : null,
    role: isAuthenticated ? principal.role : null,
    authMethod: principal.method,
    remoteAddr: requestInfo.remoteAddr,
    method: requestInfo.method,
    path: requestInfo.path,
    requestId
  })
}

const maxChanges = 64
const maxChars = 1000 // of a value as JSON; longer values are cut

function boundedChanges(changes: readonly FieldChange[] | null): readonly FieldChange[] | null {
  const bounded = (value: unknown): unknown => {
    const text = JSON.stringify(value) ?? 'null'
    return text.length > maxChars ? `${text.slice(0, maxChars)}...` : value
  }
  const some = changes?.slice(0, maxChanges) ?? []
  if (some.length === 0) return null
  return some.map(({ field, from, to }) => ({ field, from: bounded(from), to: bounded(to) }))
}

/** Sends decisions to all sinks. Returns the stored decision. */
export interface Recorder {
  write(decision: Decision, em: EntityManager): Promise<Decision>
  /** Sets the status of a decision that was written with a null status. */
  complete(decision: Decision, status: number, reason: string | null, em: EntityManager): Promise<Decision>
  /** Returns false if there is no sink. */
  isNeeded(): boolean
}

interface RecorderDeps {
  readonly filled: SlotReader
  readonly log: Log
  readonly httpMetrics: { countUnrecorded(plugin: string): void }
}

export function openRecorder({ filled, log, httpMetrics }: RecorderDeps): Recorder {
  const failing = new Set<string>() // plugins; a series of failures is logged once

  const report = (plugin: string) => (error: string) => {
    httpMetrics.countUnrecorded(plugin)
    if (failing.has(plugin)) return
    failing.add(plugin)
    const message = `plugin ${plugin} failed to record a decision; further failures are only counted`
    log.error('decision.not_recorded', message, { plugin, error })
  }

  async function record(em: EntityManager, send: (sink: DecisionSink, em: EntityManager) => Promise<void>) {
    for (const { value: sink } of filled(requiredDecisionSlot)) await send(sink, em)
    for (const { by, value: sink } of filled(decisionSlot))
      await withoutVeto(em, em => send(sink, em).then(() => void failing.delete(by)), report(by))
  }

  async function write(decision: Decision, em: EntityManager): Promise<Decision> {
    await record(em, (sink, em) => sink.write(decision, em))
    return decision
  }

  async function complete(decision: Decision, status: number, reason: string | null, em: EntityManager) {
    await record(em, (sink, em) => sink.complete(decision.id, status, reason, em))
    return { ...decision, status, reason }
  }

  return {
    write,
    complete,
    isNeeded: () => filled(requiredDecisionSlot).length + filled(decisionSlot).length > 0
  }
}

const isRefusal = (status: number | null): boolean => status === 401 || status === 403 || status === 429

/** True if access was denied. */
export const isDenial = (status: number | null, reason: string | null): boolean =>
  isRefusal(status) || reason === bootstrapRequired.code

/** True if the server made no decision. A flood of such requests must not cost writes. */
export const isUnavailable = (status: number, reason: string | null): boolean =>
  status === 503 && reason !== bootstrapRequired.code

/** True if a retry may have another outcome. Such replies are not stored for the Idempotency-Key. */
export const isTransient = (status: number): boolean => isRefusal(status) || status >= 500
