// The body of PUT: it may change hot fields, and everything else in it must equal the stored rule.
import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Values } from '../api/rule-record.ts'
import type { UpdateBody } from '../api/schema.ts'
import { bodyEmpty, immutableField } from '../codes.ts'
import type { Rule } from '../entities.ts'
import type { ChangeBy, Fields } from '../fields/fields.ts'
import { parse } from './new-rule.ts'
import { anyRule, bodyOf, immutable, isClient } from './rule-body.ts'

/** Throws unless the body is a whole rule or has a hot field. */
export function requireContent(body: UpdateBody, fields: Fields): void {
  if (Object.keys(body).length === 0)
    throw new Fault(bodyEmpty, 'the body is empty; send the whole rule or the fields to change')
  const hot = fields.hotFields()
  if (isWhole(body) || hot.some(({ key }) => key in body)) return
  const allowed = hot.map(({ key }) => key).join(', ') || 'no field of the loaded plugins'
  throw new Fault(
    (hot.find(({ key }) => fields.isSent(key)) ?? hot[0])?.updateEmpty ?? immutableField,
    `only ${allowed} may change by PUT; send it, or the whole rule with listen_port and targets; PATCH changes the rest`
  )
}

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
  const whole = isWhole(body)
    ? { ...fields.staying(body, stored), ...body }
    : { ...bodyOf(rule), ...stored, ...body }
  const draft = parse(whole)
  for (const [property, key] of coreProperties)
    if (!isDeepStrictEqual(draft[key], rule[key])) throw immutable(property)
  if (body.paused !== undefined && body.paused !== rule.paused) throw immutable('paused')
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
