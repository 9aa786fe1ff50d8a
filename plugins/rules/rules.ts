import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { defaultAckSecs, refuse, removedMeanwhile } from './answer.ts'
import { newRule, parse, requireFreePort, requireRoom } from './create.ts'
import { openDelivery } from './delivery.ts'
import { Rule } from './entities.ts'
import { openFields } from './fields.ts'
import { type AfterCommit, belongsOnAgent, objectKeyOf, openRuleStates, runAll } from './life.ts'
import { openMissingParts } from './orphans.ts'
import { openPlacing } from './placing.ts'
import { openReading } from './reading.ts'
import { openRefresh } from './refresh.ts'
import type { CreateBody } from './schema.ts'
import type { keys } from './settings.ts'
import { openUpdate } from './update.ts'

export const clientNotConnected = defineCode('client_not_connected', 422, 4)

export type Rules = ReturnType<typeof openRules>

type Change = Pick<Call, 'principal' | 'change'>

export function openRules(kernel: Kernel<typeof keys>) {
  const { config, store, clock, control, codec, log, filled } = kernel
  const fields = openFields(filled, codec)
  const reading = openReading(kernel, fields)
  const placing = openPlacing(filled)
  const refresh = openRefresh(kernel, fields)
  const life = openRuleStates(kernel)
  const delivery = openDelivery({ store, control, log, filled, fields, life })
  const { update } = openUpdate({ store, clock, control, fields, reading })
  const orphans = openMissingParts({ store, control, fields, life })

  async function create(body: CreateBody, ackSecs = defaultAckSecs, { principal, change }: Change) {
    const draft = parse(body)
    const values = fields.parse(body, draft)
    const id = newId(clock.now())
    const clientId = await change({ kind: 'rule', id }, async em => {
      const place = await placing.place(body, principal, em)
      const given = newRule({ ...draft, ...place, id, fields: Object.keys(values) }, clock.now())
      await placing.admit(given, em)
      const [rule = given] = await fields.withDerived([given], em)
      admit(rule)
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

  /** Refuses a rule whose client is not connected, or cannot take it. */
  function admit(rule: Rule): void {
    const lack = fields.lack(rule)
    if (lack) throw lack
    const peer = control.peers.find(rule.clientId)
    if (!peer)
      throw new Fault(clientNotConnected, `client ${rule.clientId} is not connected; nothing is stored`)
    const refusal = fields.refusal(rule, peer)
    if (refusal) throw refusal
  }

  /** Answers when the client has shut the listener; the rule drains on. */
  async function remove(id: string, ackSecs = defaultAckSecs, { principal, change }: Change): Promise<void> {
    const { rule, peer, notice } = await change({ kind: 'rule', id }, async em => {
      const rule = await reading.find(id, principal, em)
      if (rule.state === 'draining') return { rule }
      const held = belongsOnAgent(rule)
      if (held) await control.objects.drop(em, objectKeyOf(rule), 'drain')
      const peer = held ? control.peers.find(rule.clientId) : undefined
      const notice = await (peer ? life.enter(rule, { state: 'draining' }, em) : life.remove(rule, em))
      return { rule, peer, notice }
    })
    notice?.()
    if (peer) refuse(await control.objects.deliver(objectKeyOf(rule), 'remove', ackSecs), id, ackSecs)
    else control.objects.wake(rule.clientId)
  }

  /** For cascades, in their transaction; `after` its commit. */
  async function removeAll(where: FilterQuery<Rule>, em: EntityManager, removal: 'drain' | 'cut') {
    const rules = await em.find(Rule, where, { orderBy: { id: 'asc' } })
    const notices: AfterCommit[] = []
    for (const rule of rules) {
      if (belongsOnAgent(rule)) await control.objects.drop(em, objectKeyOf(rule), removal)
      notices.push(await life.remove(rule, em))
    }
    const after = (): void => {
      runAll(notices)
      for (const clientId of new Set(rules.map(({ clientId }) => clientId))) control.objects.wake(clientId)
    }
    return { ids: rules.map(({ id }) => id), after }
  }

  return { ...reading, ...delivery, ...orphans, create, update, remove, removeAll, refresh }
}
