// A change of a rule, from the request to the client's answer.
import { Fault, notOwner } from '../../../kernel/base/errors.ts'
import type { ApplyResult } from '../../../kernel/control/managed-objects.ts'
import type { FieldChange } from '../../../kernel/http/route.ts'
import { ruleResource } from '../api/rule-resource.ts'
import { ruleNotFound } from '../codes.ts'
import { isGroupRule, Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import { missingPart } from '../fields/requirements.ts'
import { changeGroupRule } from '../group-rules/group-rule.ts'
import type { JournalEntry } from '../journal-entry.ts'
import type { Change, Services } from '../services.ts'
import { type AppliedChange, applyChange } from './apply-change.ts'
import {
  defaultAckSecs,
  removedWhileWaiting,
  requireAnswers,
  requireApplied,
  waitForAnswers
} from './client-answers.ts'
import type { Edit, EditCall, StoredRule, WantedRule } from './edit.ts'
import { takenPorts } from './insert-rules.ts'
import { judgeEdit, requireContent, requireValid } from './judge-edit.ts'

export type ChangeRule = (id: string, edit: Edit, call: Change) => Promise<void>

/** Returns a function that stores an edit, and waits until the connected clients have applied it. */
export const openChangeRule =
  (services: Services): ChangeRule =>
  async (id, edit, { principal, change }) => {
    const { control, fields, filled } = services
    const { mode, body, existing = 'keep' } = edit
    let changes: readonly FieldChange[] = []
    let name: unknown = null
    const resource = { ...ruleResource(id, filled, () => name), changes: () => changes }
    const { rule, applied } = await change(resource, async em => {
      const stored = await findRule(services, id, edit, { principal, em })
      requireContent(edit, fields)
      if (mode === 'replace') requireValid(edit, services, principal)
      const by = { principal, em, clientTexts: new Map() }
      const wanted = await judgeEdit(services, edit, stored, by)
      name = wanted.values['name'] ?? stored.rule.name ?? null
      const call = { mode, existing, ...(mode === 'live' && { patch: body }), ...by }
      const apply = isGroupRule(stored.rule) ? changeGroupRule : changeOne
      const applied = await apply(services, stored, wanted, call)
      changes = applied.changes
      for (const entry of journalEntries(id, changes, services, principal))
        await services.addJournalEntry(entry, em)
      return { rule: stored.rule, applied }
    })
    applied.afterCommit()
    for (const clientId of new Set(applied.woken)) control.objects.wake(clientId)
    const { ackSecs = defaultAckSecs(applied.awaited.length) } = edit
    const answers = await waitForAnswers(control, applied.awaited, ackSecs)
    if (isGroupRule(rule)) requireAnswers(id, answers, ackSecs)
    else for (const { result } of answers) await requireInForce(services, id, result, ackSecs)
  }

/** An invalid body is reported before a rule that does not exist, but after a rule that belongs to another user. */
async function findRule(
  services: Services,
  id: string,
  edit: Edit,
  { principal, em }: ChangeBy
): Promise<StoredRule> {
  const { filled, fields, reader } = services
  const rule = await reader.find(id, principal, em).catch(refusal => {
    if (refusal instanceof Fault && refusal.errorCode === notOwner) throw refusal
    requireContent(edit, fields)
    requireValid(edit, services, principal)
    throw refusal
  })
  const missing = missingPart(filled, rule)
  if (rule.state === 'draining') throw new Fault(ruleNotFound, `rule ${id} is being removed`)
  if (missing) throw missing // its value would be lost
  return { rule, values: (await fields.load([rule], em)).get(id) ?? {} }
}

async function changeOne(
  services: Services,
  stored: StoredRule,
  wanted: WantedRule,
  call: EditCall
): Promise<AppliedChange> {
  const applied = await applyChange(services, stored, wanted, call)
  const faults = await takenPorts(applied.row ? [applied.row] : [], services, call.em)
  for (const fault of faults.values()) throw fault
  return applied
}

const journalEntries = (
  rule: string,
  changes: readonly FieldChange[],
  { fields }: Services,
  { method, userId }: Change['principal']
): JournalEntry[] =>
  changes.map(({ field, from, to }) => ({
    about: { rule },
    kind: fields.journalKind(field),
    from,
    to,
    cause: method === 'system' ? 'system' : 'request',
    details: { field, actor: userId }
  }))

/** Throws unless the client has applied the change. */
async function requireInForce(
  { store }: Services,
  id: string,
  result: ApplyResult | null,
  ackSecs: number
): Promise<void> {
  if (result?.status === 'applied') return
  const rule = await store.read(em => em.findOne(Rule, { id }))
  if (!rule || result?.status === 'removed') throw removedWhileWaiting(id)
  const whenRefused = rule.state === 'failed' ? ({ rule_state: 'failed' } as const) : undefined
  requireApplied(result, id, ackSecs, whenRefused)
}
