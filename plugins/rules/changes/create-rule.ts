import { newId } from '../../../kernel/platform/id.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { ruleResource } from '../api/rule-resource.ts'
import type { CreateBody } from '../api/schema.ts'
import { isGroupRule, Rule } from '../entities.ts'
import { insertGroupRule } from '../group-rules/group-rule.ts'
import type { JournalEntry } from '../journal-entry.ts'
import type { Change, Services } from '../services.ts'
import {
  collectAnswers,
  defaultAckSecs,
  removedWhileWaiting,
  requireAnswers,
  requireApplied,
  waitForAnswers
} from './client-answers.ts'
import { insertRules, newRule } from './insert-rules.ts'
import { parseRule } from './parse-rule.ts'
import { requirePlace, resolvePlacement } from './placement.ts'

export type CreateRule = (body: CreateBody, ackSecs: number | undefined, call: Change) => Promise<RuleRecord>

/** Returns a function that stores a rule, and resolves when its client has opened it; for a group rule, when all have. */
export const openCreateRule =
  (services: Services): CreateRule =>
  async (body, givenAckSecs, { principal, change }) => {
    const { store, clock, control, filled, fields, reader, addJournalEntry } = services
    const asWritten = parseRule(fields, body, principal)
    requirePlace(body.client, asWritten.values, fields.placing())
    const ifOffline = body.if_offline ?? 'refuse'
    const id = newId(clock.now())
    const resource = ruleResource(id, filled, () => asWritten.values['name'] ?? null)
    const placed = await change(resource, async em => {
      const by = { principal, em, clientTexts: new Map() }
      const where = await resolvePlacement(body, principal, filled, em)
      const resolved = await fields.resolve(body, { ...by, clientId: where.clientId })
      const { draft, values } = resolved === body ? asWritten : parseRule(fields, resolved, principal)
      const keys = fields.sentKeys(values)
      const rule = newRule(
        { ...draft, ...where, id, paused: body.paused ?? false, fields: keys },
        clock.now()
      )
      await addJournalEntry(createdEntry(principal, id), em)
      if (isGroupRule(rule)) {
        const members = await insertGroupRule(services, rule, { ...by, values, ifOffline })
        return collectAnswers(services, members, 'push', em)
      }
      const faults = await insertRules(services, [rule], values, { ...by, ifOffline })
      for (const fault of faults.values()) throw fault
      return collectAnswers(services, [rule], 'push', em)
    })
    const ackSecs = givenAckSecs ?? defaultAckSecs(placed.length)
    const isOne = placed[0]?.rule.id === id
    const answers = await waitForAnswers(control, placed, ackSecs)
    const isGone = isOne && answers[0]?.result?.status === 'removed'
    if (isGone || !(await store.read(em => em.count(Rule, { id })))) throw removedWhileWaiting(id)
    if (!isOne) requireAnswers(id, answers, ackSecs)
    else if (ifOffline === 'refuse' || answers.length > 0)
      requireApplied(answers[0]?.result ?? null, id, ackSecs, { rule_state: 'failed' })
    return reader.read(id, principal)
  }

const createdEntry = ({ userId: actor }: Change['principal'], rule: string): JournalEntry => ({
  about: { rule },
  kind: 'state',
  from: null,
  to: 'pending',
  cause: 'request',
  details: { actor }
})
