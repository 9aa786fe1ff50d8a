// PUT: hot fields change while the rule runs; all else must be as it is.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { activationFailed, defaultAckSecs, refuse, removedMeanwhile } from './answer.ts'
import { parse } from './create.ts'
import { Rule } from './entities.ts'
import { ruleNotFound } from './exports.ts'
import { type Fields, keysWith } from './fields.ts'
import { belongsOnAgent, objectKeyOf } from './life.ts'
import type { Reading } from './reading.ts'
import type { UpdateBody, Values } from './schema.ts'

export const bodyEmpty = defineCode('validation.body_empty', 400, 3)
export const immutableField = defineCode('validation.rule_immutable_field', 400, 3)

interface Services extends Pick<Kernel, 'store' | 'clock' | 'control'> {
  readonly fields: Fields
  readonly reading: Reading
}

export function openUpdate({ store, clock, control, fields, reading }: Services) {
  async function update(
    id: string,
    body: UpdateBody,
    ackSecs = defaultAckSecs,
    { principal, change }: Pick<Call, 'principal' | 'change'>
  ) {
    requireSubject(body)
    const { isAwaited, clientId } = await change({ kind: 'rule', id }, async em => {
      const rule = await reading.find(id, principal, em)
      const lack = fields.lack(rule)
      if (rule.state === 'draining') throw new Fault(ruleNotFound, `rule ${id} is being removed`)
      if (lack) throw lack
      const stored = (await fields.load([rule], em)).get(id) ?? {}
      const isAwaited = await replaceHot(rule, stored, await asked(rule, stored, body, em), em)
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
    if (isAwaited) refuse(result, id, ackSecs)
    return reading.read(id, principal)
  }

  /** The whole body, or something that may change. */
  function requireSubject(body: UpdateBody): void {
    if (Object.keys(body).length === 0)
      throw new Fault(bodyEmpty, 'the body is empty; send the whole rule or what shall change')
    const hot = fields.hot()
    if (isWhole(body) || hot.some(({ key }) => key in body)) return
    const may = hot.map(({ key }) => key).join(', ') || 'no field of the loaded plugins'
    throw new Fault(
      hot[0]?.updateEmpty ?? immutableField,
      `only ${may} may change; send it, or the whole rule with listen_port and targets`
    )
  }

  /** The hot values that the rule shall have, null where none. Refuses what would change anything else. */
  async function asked(rule: Rule, stored: Values, body: UpdateBody, em: EntityManager): Promise<Values> {
    const whole = isWhole(body) ? body : { ...bodyOf(rule), ...stored, ...body }
    const draft = parse(whole)
    for (const [field, key] of coreFields)
      if (!isDeepStrictEqual(draft[key], rule[key])) throw immutable(field)
    if (body.owner !== undefined && body.owner !== rule.owner) throw immutable('owner')
    if (body.client !== undefined && !(await isClient(rule, body.client, em))) throw immutable('client')
    for (const field of fields.frozen())
      if (!isDeepStrictEqual(fields.valueIn(field, whole, draft), stored[field.key] ?? null))
        throw immutable(field.key)
    return Object.fromEntries(fields.hot().map(field => [field.key, fields.valueIn(field, whole, draft)]))
  }

  const isClient = async ({ clientId: id }: Rule, client: string, em: EntityManager): Promise<boolean> =>
    client === id || (await em.count(Client, { id, name: client })) > 0

  /** Is a word of the client on it awaited? */
  async function replaceHot(rule: Rule, stored: Values, values: Values, em: EntityManager): Promise<boolean> {
    const isAwaited = rule.state === 'active' || rule.state === 'pending'
    const changed = Object.entries(values).filter(
      ([key, value]) => !isDeepStrictEqual(value, stored[key] ?? null)
    )
    if (changed.length === 0) return isAwaited && rule.valuesBefore != null
    const next = { ...rule, fields: keysWith(rule, values) }
    await requireAble(
      next,
      changed.flatMap(([key, value]) => (value === null ? [] : [key])),
      em
    )
    for (const { key, check } of fields.hot()) if (values[key] !== null) await check(values[key], next, em)
    await fields.replace(next, Object.fromEntries(changed), em)
    const valuesBefore = rule.state === 'active' ? (rule.valuesBefore ?? hotIn(stored)) : null
    await em.nativeUpdate(
      Rule,
      { id: rule.id },
      { fields: next.fields, valuesBefore, updatedAt: clock.now() }
    )
    if (!belongsOnAgent(rule)) return false
    await control.objects.put(em, objectKeyOf(rule))
    return isAwaited
  }

  const hotIn = (stored: Values): Values =>
    Object.fromEntries(fields.hot().map(({ key }) => [key, stored[key] ?? null]))

  /** One that is away is judged by what was last seen of it; one that was never seen is judged when it joins. */
  async function requireAble(rule: Rule, keys: readonly string[], em: EntityManager): Promise<void> {
    if (keys.length === 0) return
    const { agentVersion = null, capabilities = null } =
      control.peers.find(rule.clientId) ?? (await em.findOneOrFail(Client, { id: rule.clientId }))
    const refusal =
      agentVersion !== null && fields.refusal({ ...rule, fields: keys }, { agentVersion, capabilities })
    if (refusal) throw refusal
  }

  return { update }
}

/** A field of the body, and what of the rule it says. */
const coreFields = [
  ['protocol', 'protocol'],
  ['listen_port', 'listenFrom'],
  ['listen_port_end', 'listenTo'],
  ['targets', 'targets'],
  ['prefer_ipv6', 'preferIpv6']
] as const

type Whole = UpdateBody & Required<Pick<UpdateBody, 'listen_port' | 'targets'>>

const isWhole = (body: UpdateBody): body is Whole => 'listen_port' in body && 'targets' in body

const bodyOf = ({ protocol, listenFrom, listenTo, targets, preferIpv6 }: Rule) => ({
  protocol,
  listen_port: listenFrom,
  listen_port_end: listenTo,
  targets: [...targets],
  prefer_ipv6: preferIpv6
})

const immutable = (field: string): Fault =>
  new Fault(immutableField, `/${field} cannot change; remove the rule and make another`, {
    details: { field: `/${field}`, reason: 'immutable' }
  })
