// PUT of a definition: the rule stays in force as it was until its client has accepted the new definition.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import { defaultAckSecs, removedMeanwhile, requireApplied } from './answer.ts'
import { type Definition, Rule } from './entities.ts'
import { type ChangeBy, server } from './fields.ts'
import { type Draft, insertRule, parse, requireFreePort } from './new-rule.ts'
import { admit, place } from './placing.ts'
import type { Values } from './record.ts'
import { requireCapablePeer } from './requirements.ts'
import { resourceOf } from './resource.ts'
import { belongsOnAgent, objectKeyOf } from './rule-states.ts'
import type { CreateBody } from './schema.ts'
import type { Change, Services } from './services.ts'
import { ruleNotFound } from './slots.ts'
import { immutable } from './update-body.ts'

const maxFormerTargets = 32

export const openReplace =
  (services: Services) =>
  async (id: string, body: CreateBody, ackSecs = defaultAckSecs, { principal, change }: Change) => {
    const { control, store, filled, fields, reading, states } = services
    const draft = parse(body)
    const values = fields.parse(body, draft, principal)
    const { clientId, afterCommit } = await change(resourceOf(id), async em => {
      const rule = await reading.find(id, principal, em)
      if (rule.state === 'draining') throw new Fault(ruleNotFound, `rule ${id} is being removed`)
      const placed = await place(body, principal, filled, em)
      requireSamePlace(rule, { ...draft, ...placed })
      const given = { ...rule, ...draft, ...placed, fields: Object.keys(values) }
      await admit(given, filled, em)
      const [next = given] = await fields.withDerived([given], em)
      requireCapablePeer(services, next)
      await fields.check(next, values, { principal, em })
      const definitionBefore = belongsOnAgent(rule) ? await definitionOf(services, rule, em) : null
      const formerTargets = [...rule.targets, ...(rule.formerTargets ?? [])].slice(0, maxFormerTargets)
      const rewritten = { ...next, formerTargets, definitionBefore, valuesBefore: null }
      await rewrite(services, rewritten, values, { principal, em })
      await requireFreePort(next, filled, em)
      await control.objects.put(em, objectKeyOf(rule))
      const afterCommit = definitionBefore ? null : await states.enter(next, { state: 'pending' }, em)
      return { clientId: rule.clientId, afterCommit }
    })
    afterCommit?.()
    const result = await control.objects.deliver(objectKeyOf({ clientId, id }), 'push', ackSecs)
    if (result?.status === 'removed' || !(await store.read(em => em.count(Rule, { id }))))
      throw removedMeanwhile(id)
    requireApplied(result, id, ackSecs)
    return reading.read(id, principal)
  }

/** Puts back what the agent has, after it refused a replacement. */
export async function undoReplacement(services: Services, rule: Rule, em: EntityManager): Promise<void> {
  const before = rule.definitionBefore
  if (!before) throw new TypeError(`rule ${rule.id} is not being replaced`)
  const given = { ...rule, ...before.rule, definitionBefore: null, valuesBefore: null }
  const [restored = given] = await services.fields.withDerived([given], em)
  await rewrite(services, restored, before.values, { principal: server, em })
}

/** Values of fields that never change are deleted with the row, so it is written anew; statistics stay, by its id. */
async function rewrite({ clock, fields }: Services, rule: Rule, values: Values, by: ChangeBy): Promise<void> {
  await by.em.nativeDelete(Rule, { id: rule.id })
  await insertRule({ ...rule, updatedAt: clock.now() }, by.em)
  await fields.save(rule.id, values, by)
}

/** Returns the definition that the agent applied last. */
async function definitionOf({ fields }: Services, rule: Rule, em: EntityManager) {
  if (rule.definitionBefore) return rule.definitionBefore
  const stored = { ...(await fields.load([rule], em)).get(rule.id), ...rule.valuesBefore }
  const values = Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== null))
  const { placedBy, targets, preferIpv6 } = rule
  const definition: Definition = { placedBy, targets, preferIpv6, fields: Object.keys(values) }
  return { rule: definition, values }
}

const placeProperties = [
  ['client', 'clientId'],
  ['owner', 'owner'],
  ['protocol', 'protocol'],
  ['listen_port', 'listenFrom'],
  ['listen_port_end', 'listenTo']
] as const

/** Bytes that are not reported yet are booked to the rule's owner and ports: they must not change. */
function requireSamePlace(rule: Rule, next: Draft & Pick<Rule, 'clientId' | 'owner'>): void {
  for (const [property, key] of placeProperties) if (next[key] !== rule[key]) throw immutable(property)
}
