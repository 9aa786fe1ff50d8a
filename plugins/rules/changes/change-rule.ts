// A change of a rule, from the request to the client's answer. PUT, PATCH, pause and resume are kinds of it.
import { Fault } from '../../../kernel/base/errors.ts'
import type { ApplyResult } from '../../../kernel/control/managed-objects.ts'
import type { FieldChange } from '../../../kernel/http/route.ts'
import { resourceOf } from '../api/rule-resource.ts'
import { type Existing, isGroupRule, Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import { missingPart } from '../fields/requirements.ts'
import { changeWhole } from '../group-rules/group-rule.ts'
import type { JournalEntry } from '../journal-entry.ts'
import type { Change, Services } from '../services.ts'
import { ruleNotFound } from '../slots.ts'
import {
  type Changed,
  type ChangeKind,
  changeRule,
  type How,
  type Stored,
  type Wanted
} from './apply-change.ts'
import {
  answersOf,
  defaultAckSecs,
  removedMeanwhile,
  requireAnswers,
  requireApplied
} from './client-answers.ts'
import { takenPorts } from './new-rule.ts'
import { immutable } from './rule-body.ts'

export interface Operation {
  readonly kind: ChangeKind
  readonly existing?: Existing | undefined // default: keep
  readonly ackSecs?: number | undefined
  /** Throws what is wrong with the request for every rule: it is reported before that there is no such rule. */
  refuse?(): void
  /** Returns what the rule is to be. */
  wanted(stored: Stored, by: ChangeBy): Wanted | Promise<Wanted>
}

export type ChangeRule = (id: string, operation: Operation, call: Change) => Promise<void>

/** Makes a change, and waits until the client has it, where it is connected. */
export const openChange =
  (services: Services): ChangeRule =>
  async (id, operation, { principal, change }) => {
    const { control, filled } = services
    let changes: readonly FieldChange[] = []
    const resource = { ...resourceOf(id, filled), changes: () => changes }
    const { rule, changed } = await change(resource, async em => {
      const stored = await find(services, id, operation, { principal, em })
      const wanted = await operation.wanted(stored, { principal, em })
      requireSamePlace(services, stored, wanted)
      const how = { kind: operation.kind, existing: operation.existing ?? 'keep', principal, em }
      const make = isGroupRule(stored.rule) ? changeWhole : changeOne
      const changed = await make(services, stored, wanted, how)
      changes = changed.changes
      for (const note of notesOf(id, changes, { services, principal }))
        await services.addJournalEntry(note, em)
      return { rule: stored.rule, changed }
    })
    changed.afterCommit()
    for (const clientId of new Set(changed.woken)) control.objects.wake(clientId)
    const { ackSecs = defaultAckSecs(changed.awaited.length) } = operation
    const answers = await answersOf(control, changed.awaited, 'push', ackSecs)
    if (isGroupRule(rule)) requireAnswers(id, answers, ackSecs)
    else for (const { result } of answers) await requireInForce(services, id, result, ackSecs)
  }

/** Throws unless the client has applied the change. */
async function requireInForce(
  { store }: Services,
  id: string,
  result: ApplyResult | null,
  ackSecs: number
): Promise<void> {
  if (result?.status === 'applied') return
  const rule = await store.read(em => em.findOne(Rule, { id }))
  if (!rule || result?.status === 'removed') throw removedMeanwhile(id)
  const whenRefused = rule.state === 'failed' ? ({ rule_state: 'failed' } as const) : undefined
  requireApplied(result, id, ackSecs, whenRefused)
}

const notesOf = (
  rule: string,
  changes: readonly FieldChange[],
  { services: { fields }, principal }: { readonly services: Services } & Pick<Change, 'principal'>
): JournalEntry[] =>
  changes.map(({ field, from, to }) => ({
    about: { rule },
    kind: fields.journalKind(field),
    ...{ from, to },
    cause: principal.method === 'system' ? 'system' : 'request',
    details: { field, actor: principal.userId }
  }))

async function changeOne(services: Services, stored: Stored, wanted: Wanted, how: How): Promise<Changed> {
  const changed = await changeRule(services, stored, wanted, how)
  const faults = await takenPorts(changed.row ? [changed.row] : [], services, how.em)
  for (const fault of faults.values()) throw fault
  return changed
}

/** Throws if a rule of one client would get several, or the other way round. */
function requireSamePlace({ fields }: Services, { rule }: Stored, { values }: Wanted): void {
  const placing = fields.placing()
  if (placing && isGroupRule(rule) !== ((values[placing.key] ?? null) !== null)) throw immutable(placing.key)
}

async function find(
  { filled, fields, reader }: Services,
  id: string,
  operation: Operation,
  { principal, em }: ChangeBy
): Promise<Stored> {
  const rule = await reader.find(id, principal, em).catch(refusal => {
    operation.refuse?.()
    throw refusal
  })
  const missing = missingPart(filled, rule)
  if (rule.state === 'draining') throw new Fault(ruleNotFound, `rule ${id} is being removed`)
  if (missing) throw missing // its value would be lost
  return { rule, values: (await fields.load([rule], em)).get(id) ?? {} }
}
