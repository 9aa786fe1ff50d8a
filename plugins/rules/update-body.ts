// The body of PUT: it may change hot fields, and everything else in it must equal the stored rule.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { bodyEmpty, immutableField } from './codes.ts'
import type { Rule } from './entities.ts'
import type { ChangeBy, Fields } from './fields.ts'
import { parse } from './new-rule.ts'
import type { Values } from './record.ts'
import type { UpdateBody } from './schema.ts'

/** Throws unless the body is a whole rule or has a hot field. */
export function requireContent(body: UpdateBody, fields: Fields): void {
  if (Object.keys(body).length === 0)
    throw new Fault(bodyEmpty, 'the body is empty; send the whole rule or the fields to change')
  const hot = fields.hotFields()
  if (isWhole(body) || hot.some(({ key }) => key in body)) return
  const allowed = hot.map(({ key }) => key).join(', ') || 'no field of the loaded plugins'
  throw new Fault(
    hot[0]?.updateEmpty ?? immutableField,
    `only ${allowed} may change; send it, or the whole rule with listen_port and targets`
  )
}

const anyRule = { listen_port: 1, targets: [{ host: '192.0.2.1', port: 1 }] }

/** Throws unless the body would be valid for some rule. */
export function requireValid(body: UpdateBody, fields: Fields, principal: Principal): void {
  const whole = isWhole(body) ? body : { ...anyRule, ...body, listen_port_end: null }
  fields.parse(whole, parse(whole), principal)
}

/** Returns the requested value of every hot field, or null. Throws if the body would change anything else. */
export async function requestedValues(
  { rule, stored, body, fields }: { rule: Rule; stored: Values; body: UpdateBody; fields: Fields },
  { principal, em }: ChangeBy
): Promise<Values> {
  const whole = isWhole(body) ? body : { ...bodyOf(rule), ...stored, ...body }
  const draft = parse(whole)
  for (const [property, key] of coreProperties)
    if (!isDeepStrictEqual(draft[key], rule[key])) throw immutable(property)
  if (body.owner !== undefined && body.owner !== rule.owner) throw immutable('owner')
  if (body.placed_by !== undefined && body.placed_by !== rule.placedBy) throw immutable('placed_by')
  if (body.client !== undefined && !(await isClient(rule, body.client, em))) throw immutable('client')
  for (const field of fields.frozenFields())
    if (!isDeepStrictEqual(fields.parseField(field, whole, draft, principal), stored[field.key] ?? null))
      throw immutable(field.key)
  return Object.fromEntries(
    fields.hotFields().map(field => [field.key, fields.parseField(field, whole, draft, principal)])
  )
}

const isClient = async ({ clientId: id }: Rule, client: string, em: EntityManager): Promise<boolean> =>
  client === id || (await em.count(Client, { id, name: client })) > 0

/** Names of core properties in the body and in the rule. */
const coreProperties = [
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

export const immutable = (property: string): Fault =>
  new Fault(immutableField, `/${property} cannot change; remove the rule and create another`, {
    details: { field: `/${property}`, reason: 'immutable' }
  })
