// PUT: changes hot fields while the rule runs.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { activationFailed, defaultAckSecs, removedMeanwhile, requireApplied } from './answer.ts'
import { Rule } from './entities.ts'
import { type ChangeBy, keysWith } from './fields.ts'
import type { Values } from './record.ts'
import { missingPart, unsupported } from './requirements.ts'
import { resourceOf } from './resource.ts'
import { belongsOnAgent, objectKeyOf } from './rule-states.ts'
import type { UpdateBody } from './schema.ts'
import type { Change, Services } from './services.ts'
import { ruleNotFound } from './slots.ts'
import { requestedValues, requireContent, requireValid } from './update-body.ts'

export const openUpdate =
  (services: Services) =>
  async (id: string, body: UpdateBody, ackSecs = defaultAckSecs, { principal, change }: Change) => {
    const { store, control, filled, fields, reading } = services
    requireContent(body, fields)
    const { isAwaited, clientId } = await change(resourceOf(id), async em => {
      const rule = await reading.find(id, principal, em).catch(refusal => {
        requireValid(body, fields, principal) // an invalid body is reported first
        throw refusal
      })
      const missing = missingPart(filled, rule)
      if (rule.state === 'draining') throw new Fault(ruleNotFound, `rule ${id} is being removed`)
      if (missing) throw missing
      const stored = (await fields.load([rule], em)).get(id) ?? {}
      const values = await requestedValues({ rule, stored, body, fields }, { principal, em })
      const isAwaited = await replaceHotFields(services, { rule, stored, values }, { principal, em })
      const isConnected = control.peers.find(rule.clientId) !== undefined
      return { clientId: rule.clientId, isAwaited: isAwaited && isConnected }
    })
    if (!isAwaited) control.objects.wake(clientId)
    const result = isAwaited
      ? await control.objects.deliver(objectKeyOf({ clientId, id }), 'push', ackSecs)
      : null
    if (result?.status === 'removed' || !(await store.read(em => em.count(Rule, { id }))))
      throw removedMeanwhile(id)
    if (result?.status === 'refused')
      throw new Fault(activationFailed, result.message, { details: { rule_id: id, reason: result.code } })
    if (isAwaited) requireApplied(result, id, ackSecs)
    return reading.read(id, principal)
  }

/** Stores the values that differ. Returns true if the reply must wait for the agent. */
async function replaceHotFields(
  services: Services,
  { rule, stored, values }: { rule: Rule; stored: Values; values: Values },
  by: ChangeBy
): Promise<boolean> {
  const { principal, em } = by
  const { clock, control, fields } = services
  const isAwaited = rule.state === 'active' || rule.state === 'pending'
  const changed = Object.entries(values).filter(
    ([key, value]) => !isDeepStrictEqual(value, stored[key] ?? null)
  )
  if (changed.length === 0) return isAwaited && rule.valuesBefore != null
  const next = { ...rule, fields: keysWith(rule, values) }
  const added = changed.flatMap(([key, value]) => (value === null ? [] : [key]))
  await requireSupport(services, { ...next, fields: added }, em)
  for (const { key, check, deps } of fields.hotFields())
    if (values[key] !== null) await check(values[key], next, em, { deps, principal })
  await fields.replaceHot(next, Object.fromEntries(changed), by)
  const hotBefore = Object.fromEntries(fields.hotFields().map(({ key }) => [key, stored[key] ?? null]))
  const isInForce = rule.state === 'active' && rule.definitionBefore == null
  const valuesBefore = isInForce ? (rule.valuesBefore ?? hotBefore) : null
  await em.nativeUpdate(Rule, { id: rule.id }, { fields: next.fields, valuesBefore, updatedAt: clock.now() })
  if (!belongsOnAgent(rule)) return false
  await control.objects.put(em, objectKeyOf(rule))
  return isAwaited
}

/** Throws if the client lacks a capability of these fields. For a disconnected client, its last connection counts. */
async function requireSupport({ control, filled }: Services, rule: Rule, em: EntityManager): Promise<void> {
  if (rule.fields.length === 0) return
  const { agentVersion = null, capabilities = null } =
    control.peers.find(rule.clientId) ?? (await em.findOneOrFail(Client, { id: rule.clientId }))
  const fault = agentVersion !== null && unsupported(filled, rule, { agentVersion, capabilities })
  if (fault) throw fault
}
