// POST: stores a rule, and answers when its client has opened it; a rule of several clients when all have.
import { newId } from '../../../kernel/base/id.ts'
import { resourceOf } from '../api/rule-resource.ts'
import type { CreateBody } from '../api/schema.ts'
import { isGroupRule, Rule } from '../entities.ts'
import { insertWhole } from '../group-rules/group-rule.ts'
import type { JournalEntry } from '../journal-entry.ts'
import type { Change, Services } from '../services.ts'
import {
  answersOf,
  defaultAckSecs,
  removedMeanwhile,
  requireAnswers,
  requireApplied
} from './client-answers.ts'
import { insertRules } from './insert-rules.ts'
import { newRule, parse } from './new-rule.ts'
import { place, requirePlace } from './placement.ts'

export const openCreate =
  (services: Services) =>
  async (body: CreateBody, givenAckSecs: number | undefined, { principal, change }: Change) => {
    const { store, clock, control, filled, fields, reader, addJournalEntry } = services
    const draft = parse(body)
    const values = fields.parse(body, draft, principal)
    requirePlace(body.client, values, fields.placing())
    const ifOffline = body.if_offline ?? 'refuse'
    const id = newId(clock.now())
    const placed = await change(resourceOf(id, filled), async em => {
      const by = { principal, em }
      const keys = fields.sentKeys(values)
      const where = await place(body, principal, filled, em)
      const rule = newRule(
        { ...draft, ...where, id, paused: body.paused ?? false, fields: keys },
        clock.now()
      )
      await addJournalEntry(createdBy(principal, id), em)
      if (isGroupRule(rule)) return insertWhole(services, rule, { ...by, values, ifOffline })
      const faults = await insertRules(services, [rule], values, { ...by, ifOffline })
      for (const fault of faults.values()) throw fault
      return [rule]
    })
    const ackSecs = givenAckSecs ?? defaultAckSecs(placed.length)
    const [only] = placed
    const isOne = only?.id === id
    const answers = await answersOf(control, placed, 'push', ackSecs)
    const isGone = isOne && answers[0]?.result?.status === 'removed'
    if (isGone || !(await store.read(em => em.count(Rule, { id })))) throw removedMeanwhile(id)
    if (!isOne) requireAnswers(id, answers, ackSecs)
    else if (ifOffline === 'refuse' || answers.length > 0)
      requireApplied(answers[0]?.result ?? null, id, ackSecs, { rule_state: 'failed' })
    return reader.read(id, principal)
  }

const createdBy = ({ userId: actor }: Change['principal'], rule: string): JournalEntry => ({
  about: { rule },
  kind: 'state',
  from: null,
  to: 'pending',
  cause: 'request',
  details: { actor }
})
