// Changes the state of a rule after its agent has answered.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, ManagedObject, ObjectKind } from '../../../kernel/control/managed-objects.ts'
import { portInUse } from '../changes/insert-rules.ts'
import { undoChange } from '../changes/write-rule.ts'
import { nothingPending, Rule } from '../entities.ts'
import type { Services } from '../services.ts'
import { sendRefusal } from './reconciliation.ts'
import { type AfterCommit, stateInForce } from './rule-states.ts'

type Results = Pick<ObjectKind, 'settled' | 'recordResult' | 'resultRecorded'>

export function openAgentResults(services: Services): Results {
  const { parts, states } = services
  const afterCommit = new WeakMap<ManagedObject, AfterCommit>()

  async function record({ id, removal }: ManagedObject, result: ApplyResult, em: EntityManager) {
    // Finds the row again: one transaction may have several results of a rule.
    const rule = await em.findOne(Rule, { id })
    if (!rule) return null
    if (rule.state === 'draining') {
      if (removal !== null && result.status === 'applied') await parts.drop([rule], 'closed', 'drain', em)
      return removal !== null && result.status === 'removed' ? states.remove(rule, em) : null
    }
    if (removal !== null) return null
    if (result.status === 'refused')
      return recordRefusal(services, rule, { code: refusalOf(services, rule, result.code) }, em)
    if (result.status !== 'applied') return null
    const isPending = rule.state === 'pending' || rule.existing != null
    if (isPending && (await parts.awaited([id], em)).has(id)) return null // it still has the rule before the change
    await parts.dropLeaving(rule, em)
    if (rule.existing != null) await em.nativeUpdate(Rule, { id }, nothingPending)
    return states.enter(rule, { state: stateInForce(rule) }, em)
  }

  return {
    /** Returns the rules that need no write. A fleet that reconnects has usually applied all of its rules before. */
    async settled(rows, em) {
      const rules = await em.find(Rule, { id: { $in: rows.map(({ id }) => id) } })
      const isSettled = (rule: Rule): boolean =>
        rule.state === stateInForce(rule) && rule.stateReason == null && rule.existing == null
      return new Set(rules.filter(isSettled).map(({ id }) => id))
    },
    async recordResult(row, result, em) {
      const after = await record(row, result, em)
      if (after) afterCommit.set(row, after)
    },
    resultRecorded(row) {
      afterCommit.get(row)?.()
      afterCommit.delete(row)
    }
  }
}

/** An agent that lost a capability refuses its field as unknown; the capability has the better code. */
const refusalOf = (services: Services, rule: Rule, code: string): string =>
  sendRefusal(services, rule)?.errorCode.code ?? code

interface Refusal {
  readonly code: string
  /** The kind of a derived object in the journal, and its client; absent: the rule's client refuses. */
  readonly by?: { readonly kind: string; readonly clientId: string }
}

/**
 * Undoes a refused change, or fails a rule without a pending change. If the port is in use and the change did not move it,
 * undoing does not help: the change stays, and the agent retries the rule.
 */
export async function recordRefusal(
  services: Services,
  rule: Rule,
  { code, by }: Refusal,
  em: EntityManager
): Promise<AfterCommit> {
  const { control, log, addJournalEntry, parts, states } = services
  const { id, clientId, before } = rule
  if (before == null) return states.fail(rule, { code }, em)
  const isKept = code === portInUse.code && before.whenPortInUse === 'keep'
  if (!isKept)
    await addJournalEntry(
      {
        about: { rule: rule.parent ?? id },
        kind: by?.kind ?? 'change',
        from: 'requested',
        to: 'undone',
        cause: code,
        ...(by && { details: { client_id: by.clientId } })
      },
      em
    )
  const after = await (isKept ? states.fail(rule, { code }, em) : undoChange(services, rule, code, em))
  if (rule.activatedAt != null) await parts.send([rule], em)
  return () => {
    after()
    if (!isKept)
      log.warn('rule.change_refused', 'the client keeps the rule as it was', {
        rule: id,
        rule_name: rule.name ?? undefined,
        client: clientId,
        code
      })
    control.objects.wake(clientId)
  }
}
