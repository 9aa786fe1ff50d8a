// POST: stores a rule, and answers when its client has opened it.
import { newId } from '../../kernel/base/id.ts'
import { defaultAckSecs, removedMeanwhile, requireApplied } from './answer.ts'
import { Rule } from './entities.ts'
import { insertRule, newRule, parse, requireFreePort, requireRoom } from './new-rule.ts'
import type { Note } from './notes.ts'
import { admit, place } from './placing.ts'
import { requireCapableOnceBack, requireCapablePeer } from './requirements.ts'
import { resourceOf } from './resource.ts'
import { objectKeyOf } from './rule-states.ts'
import type { CreateBody } from './schema.ts'
import type { Change, Services } from './services.ts'

export const openCreate =
  (services: Services) =>
  async (body: CreateBody, ackSecs = defaultAckSecs, { principal, change }: Change) => {
    const { config, store, clock, control, filled, fields, reading, note } = services
    const draft = parse(body)
    const values = fields.parse(body, draft, principal)
    const isQueued = body.if_offline === 'queue'
    const id = newId(clock.now())
    const clientId = await change(resourceOf(id, filled), async em => {
      const placed = await place(body, principal, filled, em)
      const { paused = false } = body
      const keys = fields.sentKeys(values)
      const given = newRule({ ...draft, ...placed, id, paused, fields: keys }, clock.now())
      await admit(given, filled, em)
      const [rule = given] = await fields.withDerived([given], em)
      if (isQueued) await requireCapableOnceBack(services, rule, em)
      else requireCapablePeer(services, rule)
      await insertRule(rule, em)
      await fields.check(rule, values, { principal, em })
      await fields.save(id, values, { principal, em })
      await requireFreePort(rule, services, em)
      await requireRoom(rule, config, em)
      await note(createdBy(principal, id), em)
      await control.objects.put(em, objectKeyOf(rule))
      return rule.clientId
    })
    const result = await control.objects.deliver(objectKeyOf({ clientId, id }), 'push', ackSecs)
    if (result?.status === 'removed' || !(await store.read(em => em.count(Rule, { id }))))
      throw removedMeanwhile(id)
    const waits = isQueued && result === null && control.peers.find(clientId) === undefined
    if (!waits) requireApplied(result, id, ackSecs, { rule_state: 'failed' })
    return reading.read(id, principal)
  }

const createdBy = ({ userId: actor }: Change['principal'], rule: string): Note => ({
  about: { rule },
  kind: 'state',
  from: null,
  to: 'pending',
  cause: 'request',
  details: { actor }
})
