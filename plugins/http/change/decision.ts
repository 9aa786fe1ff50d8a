import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../../kernel/base/id.ts'
import type { Principal, Role } from '../../../kernel/http/principal.ts'
import type { FieldChange, Resource } from '../../../kernel/http/route.ts'
import { defineSlot, type SlotReader } from '../../../kernel/slot.ts'
import { bootstrapRequired } from '../codes.ts'

/** Records who asked for which action, and its outcome. */
export interface Decision {
  readonly id: string // ULID
  readonly timestamp: number // ms
  readonly action: string
  readonly actor: string | null
  readonly role: Role | null
  readonly authMethod: Principal['method']
  readonly remoteAddr: string | null // null: no request made the change; method and path are empty then
  readonly method: string
  readonly path: string
  readonly resourceKind: string | null
  readonly resourceId: string | null
  readonly outcome: 'allow' | 'deny'
  readonly status: number | null // null: changed, the client's answer is pending
  readonly reason: string | null // the code of a refusal
  readonly changes: readonly FieldChange[] | null // of the resource's fields, where it tells them; bounded
  readonly requestId: string
}

export interface DecisionSink {
  /** Writes the decision, in the transaction of the change where there is one. */
  write(decision: Decision, em: EntityManager): Promise<void>
  /** Sets the status of a decision that was written with null. */
  complete(id: string, status: number, reason: string | null, em: EntityManager): Promise<void>
}

/** Receives the decision on every mutation and every denial. */
export const decisionSlot = defineSlot<DecisionSink>('http.decision')

interface Made extends Omit<Decision, 'id' | 'resourceKind' | 'resourceId' | 'outcome' | 'changes'> {
  readonly resource: Resource | null
}

export const decisionOf = ({ resource, ...made }: Made): Decision => ({
  ...made,
  id: newId(made.timestamp),
  resourceKind: resource?.kind ?? null,
  resourceId: resource?.id ?? null,
  changes: boundedChanges(resource?.changes?.() ?? null),
  outcome: isDenial(made.status, made.reason) ? 'deny' : 'allow'
})

const maxChanges = 64
const maxChars = 1000 // of a value as JSON; beyond, the beginning of its JSON is kept

function boundedChanges(changes: readonly FieldChange[] | null): readonly FieldChange[] | null {
  const bounded = (value: unknown): unknown => {
    const text = JSON.stringify(value) ?? 'null'
    return text.length > maxChars ? `${text.slice(0, maxChars)}...` : value
  }
  const some = changes?.slice(0, maxChanges) ?? []
  if (some.length === 0) return null
  return some.map(({ field, from, to }) => ({ field, from: bounded(from), to: bounded(to) }))
}

export type Recorder = ReturnType<typeof openRecorder>

/** Sends decisions to all sinks. */
export function openRecorder({ filled }: { readonly filled: SlotReader }) {
  const sinks = () => filled(decisionSlot).map(({ value }) => value)

  async function write(decision: Decision, em: EntityManager): Promise<Decision> {
    for (const sink of sinks()) await sink.write(decision, em)
    return decision
  }

  async function complete(decision: Decision, status: number, reason: string | null, em: EntityManager) {
    for (const sink of sinks()) await sink.complete(decision.id, status, reason, em)
    return { ...decision, status, reason }
  }

  return { write, complete, isNeeded: () => sinks().length > 0 }
}

const isRefusal = (status: number | null): boolean => status === 401 || status === 403 || status === 429

/** True if access was denied: the outcome of the decision is 'deny'. */
export const isDenial = (status: number | null, reason: string | null): boolean =>
  isRefusal(status) || reason === bootstrapRequired.code

/** True if the server decided nothing. A flood of such requests must not fill the record or cost writes. */
export const isUnavailable = (status: number, reason: string | null): boolean =>
  status === 503 && reason !== bootstrapRequired.code

/** True if a retry may have another outcome: this one is not kept for the Idempotency-Key. */
export const isTransient = (status: number): boolean => isRefusal(status) || status >= 500
