// POST: stores a rule, and answers when its client has opened it.
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { defaultAckSecs, refuse, removedMeanwhile } from './answer.ts'
import { Rule } from './entities.ts'
import type { Fields } from './fields.ts'
import { newRule, parse, requireFreePort, requireRoom } from './new-rule.ts'
import type { Placing } from './placing.ts'
import type { Reading } from './reading.ts'
import { objectKeyOf } from './rule-states.ts'
import type { CreateBody } from './schema.ts'
import type { keys } from './settings.ts'

export const clientNotConnected = defineCode('client_not_connected', 422, 4)

interface Services extends Pick<Kernel<typeof keys>, 'config' | 'store' | 'clock' | 'control' | 'filled'> {
  readonly fields: Fields
  readonly placing: Placing
  readonly reading: Reading
}

type Change = Pick<Call, 'principal' | 'change'>

export const openCreate =
  ({ config, store, clock, control, filled, fields, placing, reading }: Services) =>
  async (body: CreateBody, ackSecs = defaultAckSecs, { principal, change }: Change) => {
    const draft = parse(body)
    const values = fields.parse(body, draft)
    const id = newId(clock.now())
    const clientId = await change({ kind: 'rule', id }, async em => {
      const place = await placing.place(body, principal, em)
      const given = newRule({ ...draft, ...place, id, fields: Object.keys(values) }, clock.now())
      await placing.admit(given, em)
      const [rule = given] = await fields.withDerived([given], em)
      requireAblePeer(rule, { control, fields })
      await em.insert(Rule, rule)
      await fields.save(rule, values, em)
      await requireFreePort(rule, filled, em)
      await requireRoom(rule, config, em)
      await control.objects.put(em, objectKeyOf(rule))
      return rule.clientId
    })
    const result = await control.objects.deliver(objectKeyOf({ clientId, id }), 'push', ackSecs)
    if (result?.status === 'removed' || !(await store.read(em => em.count(Rule, { id }))))
      throw removedMeanwhile(id)
    refuse(result, id, ackSecs)
    return reading.read(id, principal)
  }

/** Throws when the client is not connected, or cannot take the rule. */
function requireAblePeer(rule: Rule, { control, fields }: Pick<Services, 'control' | 'fields'>): void {
  const missing = fields.missingPart(rule)
  if (missing) throw missing
  const peer = control.peers.find(rule.clientId)
  if (!peer)
    throw new Fault(clientNotConnected, `client ${rule.clientId} is not connected; nothing is stored`)
  const unsupported = fields.unsupported(rule, peer)
  if (unsupported) throw unsupported
}
