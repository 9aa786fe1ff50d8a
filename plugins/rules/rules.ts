import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { ackTimeout, defineCode, Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Settlement } from '../../kernel/control/held.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { findClient, newRule, parse, portInUse, requireFreePort, requireRoom, requireUser } from './create.ts'
import { heldOf, isHeld, openDelivery } from './delivery.ts'
import { Rule } from './entities.ts'
import { openFields } from './fields.ts'
import { openReading } from './reading.ts'
import type { CreateBody } from './schema.ts'
import type { keys } from './settings.ts'
import { openWaiting } from './waiting.ts'

export const clientNotConnected = defineCode('client_not_connected', 422, 4)
export const activationFailed = defineCode('activation_failed', 422, 6)

export type Rules = ReturnType<typeof openRules>

type Change = Pick<Call, 'principal' | 'change'>

const defaultAckSecs = 5

export function openRules(kernel: Kernel<typeof keys>) {
  const { config, store, clock, control, codec, filled } = kernel
  const fields = openFields(filled, codec)
  const waiting = openWaiting(clock)
  const reading = openReading(store, fields)
  const { kind, joined, sortOrphans, enter, remove: removeRow } = openDelivery(kernel, fields, waiting)

  async function create(body: CreateBody, ackSecs = defaultAckSecs, { principal, change }: Change) {
    const draft = parse(body)
    const values = fields.parse(body, draft)
    const id = newId(clock.now())
    const peer = await change({ kind: 'rule', id }, async em => {
      const { id: clientId } = await findClient(body.client, em)
      const owner = body.owner ?? principal.userId
      await requireUser(owner, em)
      const rule = newRule({ ...draft, id, clientId, owner, fields: Object.keys(values) }, clock.now())
      const peer = admit(rule)
      await requireFreePort(rule, em)
      await requireRoom(rule, config, em)
      await em.insert(Rule, rule)
      await fields.save(rule, values, em)
      await control.held.put(em, heldOf(rule))
      return peer
    })
    const answer = waiting.expect(`push ${id}`, peer, ackSecs)
    control.held.wake(peer.clientId)
    refuse(await answer, id, ackSecs)
    return reading.read(id, principal)
  }

  /** The client that shall take it, connected and able. */
  function admit(rule: Rule) {
    const lack = fields.lack(rule)
    if (lack) throw lack
    const peer = control.peers.find(rule.clientId)
    if (!peer)
      throw new Fault(clientNotConnected, `client ${rule.clientId} is not connected; nothing is stored`)
    const refusal = fields.refusal(rule, peer)
    if (refusal) throw refusal
    return peer
  }

  /** Answers when the client has shut the listener; the rule drains on. */
  async function remove(id: string, ackSecs = defaultAckSecs, { principal, change }: Change): Promise<void> {
    const { rule, peer } = await change({ kind: 'rule', id }, async em => {
      const rule = await reading.find(id, principal, em)
      if (rule.state === 'draining') return { rule, peer: undefined }
      const held = isHeld(rule)
      if (held) await control.held.drop(em, heldOf(rule), 'drain')
      const peer = held ? control.peers.find(rule.clientId) : undefined
      await (peer ? enter(rule, 'draining', null, em) : removeRow(rule, em))
      return { rule, peer }
    })
    const answer = peer && waiting.expect(`remove ${id}`, peer, ackSecs)
    control.held.wake(rule.clientId)
    if (answer) refuse(await answer, id, ackSecs)
  }

  /** For cascades, in their transaction. After the commit they wake the clients that are answered here. */
  async function removeAll(where: FilterQuery<Rule>, em: EntityManager, removal: 'drain' | 'cut') {
    const rules = await em.find(Rule, where, { orderBy: { id: 'asc' } })
    for (const rule of rules) {
      if (isHeld(rule)) await control.held.drop(em, heldOf(rule), removal)
      await removeRow(rule, em)
    }
    return rules.map(({ id, clientId }) => ({ ruleId: id, clientId }))
  }

  return { ...reading, create, remove, removeAll, kind, joined, sortOrphans }
}

function refuse(answer: Settlement | null, ruleId: string, ackSecs: number): void {
  const details = { rule_id: ruleId }
  if (!answer) {
    const message = `the client has not answered (${ackSecs} s, or its stream ended); the rule settles by itself`
    throw new Fault(ackTimeout, message, { details })
  }
  if (answer.is !== 'refused') return
  if (answer.code === portInUse.code) throw new Fault(portInUse, answer.message, { details })
  throw new Fault(activationFailed, answer.message, { details: { ...details, reason: answer.code } })
}
