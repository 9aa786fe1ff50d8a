// Turns an edit into the rule that it asks for. Each mode reads its body in its own way; the errors are in a fixed order.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { unknownField } from '../../http/exports.ts'
import type { Values } from '../api/rule-record.ts'
import { type DefinitionBody, type PatchBody, readOnlyIn, type UpdateBody } from '../api/schema.ts'
import { bodyEmpty, immutableField } from '../codes.ts'
import { isGroupRule, type Rule } from '../entities.ts'
import type { ChangeBy, Fields } from '../fields/fields.ts'
import type { Services } from '../services.ts'
import { listChanges } from './apply-change.ts'
import type { Edit, StoredRule, WantedRule } from './edit.ts'
import { mergeBody } from './merge-body.ts'
import { parseDraft } from './new-rule.ts'
import { requirePlace, resolvePlacement } from './placement.ts'

/** Throws unless a PUT is a whole rule or has a hot field. */
export function requireContent({ mode, body }: Edit, fields: Fields): void {
  if (mode !== 'hot' || isWholeBody(body)) return
  if (Object.keys(body).length === 0)
    throw new Fault(bodyEmpty, 'the body is empty; send the whole rule or the fields to change')
  const hot = fields.hotFields()
  if (hot.some(({ key }) => key in body)) return
  const allowed = hot.map(({ key }) => key).join(', ') || 'no field of the loaded plugins'
  throw new Fault(
    (hot.find(({ key }) => fields.isSent(key)) ?? hot[0])?.updateEmpty ?? immutableField,
    `only ${allowed} may change by PUT; send it, or the whole rule with listen_port and targets; PATCH changes the rest`
  )
}

/** Throws if the body would be invalid for every rule. */
export function requireValid(edit: Edit, services: Services, principal: Principal): void {
  const body = bodyForAnyRule(edit, services)
  services.fields.parse(body, parseDraft(body), principal)
}

const anyRule = { listen_port: 1, targets: [{ host: '192.0.2.1', port: 1 }] }

function bodyForAnyRule({ mode, body }: Edit, services: Services): DefinitionBody {
  if (mode === 'live') return mergeBody(anyRule, editableIn(body, services), services)
  if (mode === 'replace' || isWholeBody(body)) return body as DefinitionBody
  return { ...anyRule, ...body, listen_port_end: null }
}

/** Returns the rule that the edit asks for. Throws if the stored rule must not become that rule. */
export async function judgeEdit(
  services: Services,
  edit: Edit,
  stored: StoredRule,
  by: ChangeBy
): Promise<WantedRule> {
  const wanted = await judgeBody(services, edit, stored, by)
  const placing = services.fields.placing()
  if (placing && isGroupRule(stored.rule) !== ((wanted.values[placing.key] ?? null) !== null))
    throw immutable(placing.key)
  return wanted
}

function judgeBody(services: Services, { mode, body }: Edit, stored: StoredRule, by: ChangeBy) {
  if (mode === 'hot') return judgeUpdate(services, body, stored, by)
  return mode === 'live'
    ? judgePatch(services, body, stored, by)
    : judgeDefinition(services, body, stored, by)
}

/** Everything except hot fields must equal the stored rule after normalisation. */
async function judgeUpdate(
  { fields }: Services,
  body: UpdateBody,
  { rule, values }: StoredRule,
  { principal, em }: ChangeBy
): Promise<WantedRule> {
  const whole = isWholeBody(body)
    ? { ...fields.staying(body, values), ...body }
    : { ...bodyOf(rule), ...values, ...body }
  const draft = parseDraft(whole)
  for (const [property, key] of draftProperties)
    if (!isDeepStrictEqual(draft[key], rule[key])) throw immutable(property)
  for (const [property, key] of plainProperties)
    if (body[property] !== undefined && body[property] !== rule[key]) throw immutable(property)
  if (body.client !== undefined && !(await isClient(rule, body.client, em))) throw immutable('client')
  for (const field of fields.frozenFields())
    if (!isDeepStrictEqual(fields.parseField(field, whole, draft, principal), values[field.key] ?? null))
      throw immutable(field.key)
  const hot = fields
    .hotFields()
    .map(field => [field.key, fields.parseField(field, whole, draft, principal)] as const)
  return { ...rule, values: { ...values, ...Object.fromEntries(hot) } }
}

/** Names in the body and in the rule; an absent one has its default. */
const draftProperties = [
  ['protocol', 'protocol'],
  ['listen_port', 'listenFrom'],
  ['listen_port_end', 'listenTo'],
  ['targets', 'targets'],
  ['prefer_ipv6', 'preferIpv6']
] as const

/** An absent one stays as it is. */
const plainProperties = [
  ['paused', 'paused'],
  ['owner', 'owner'],
  ['placed_by', 'placedBy']
] as const

async function judgePatch(
  services: Services,
  patch: PatchBody,
  stored: StoredRule,
  by: ChangeBy
): Promise<WantedRule> {
  await requireUnchanged(stored, patch, services, by.em)
  const { fields } = services
  const { rule, values } = stored
  const body = mergeBody({ ...bodyOf(rule), ...values }, editableIn(patch, services), services)
  const draft = parseDraft(body)
  const next = { ...fields.none(), ...fields.parse(body, draft, by.principal) }
  const wanted = { ...rule, ...draft, paused: body.paused ?? false, values: next }
  const isPlaced = listChanges(stored, wanted).some(({ field }) => !fields.isHot(field) && field !== 'paused')
  if (patch.placed_by === undefined && !isPlaced) return wanted
  return { ...wanted, ...(await placePatched(rule, patch, services, by)) }
}

/** Whoever changes where a rule listens or forwards has placed it, and grants limit them; a superadmin leaves that as it is. */
function placePatched(rule: Rule, patch: PatchBody, { filled }: Services, { principal, em }: ChangeBy) {
  const placer = patch.placed_by ?? (principal.role === 'superadmin' ? rule.placedBy : undefined)
  const given = {
    ...(!isGroupRule(rule) && { client: rule.clientId }),
    owner: rule.owner,
    ...(placer !== undefined && { placed_by: placer })
  }
  return resolvePlacement(given, principal, filled, em)
}

async function judgeDefinition(
  { filled, fields }: Services,
  body: DefinitionBody,
  { rule, values: stored }: StoredRule,
  { principal, em }: ChangeBy
): Promise<WantedRule> {
  const draft = parseDraft(body)
  const given = fields.parse(body, draft, principal)
  const values = { ...fields.none(), ...given, ...fields.staying(body, stored) }
  requirePlace(body.client, values, fields.placing())
  const placed = await resolvePlacement(body, principal, filled, em)
  const next = { ...draft, ...placed, paused: body.paused ?? rule.paused, values }
  for (const [property, key] of placeProperties) if (next[key] !== rule[key]) throw immutable(property)
  return next
}

const placeProperties = [
  ['client', 'clientId'],
  ['owner', 'owner'],
  ['protocol', 'protocol'],
  ['listen_port', 'listenFrom'],
  ['listen_port_end', 'listenTo']
] as const

type WholeBody = UpdateBody & Required<Pick<UpdateBody, 'listen_port' | 'targets'>>

const isWholeBody = (body: Values): body is WholeBody => 'listen_port' in body && 'targets' in body

/** Returns the rule as a request would create it, without its fields. */
const bodyOf = ({ protocol, listenFrom, listenTo, targets, preferIpv6, paused }: Rule) => ({
  protocol,
  listen_port: listenFrom,
  listen_port_end: listenTo > listenFrom ? listenTo : null,
  targets: [...targets],
  prefer_ipv6: preferIpv6,
  paused
})

const isClient = async ({ clientId: id }: Rule, client: string, em: EntityManager): Promise<boolean> =>
  client === id || (await em.count(Client, { id, name: client })) > 0

const fixedProperties = ['client', 'protocol', 'owner']

function immutable(property: string): Fault {
  const remedy = fixedProperties.includes(property)
    ? '; remove the rule and create another'
    : ' by PUT; PATCH changes it'
  const details = { field: `/${property}`, reason: 'immutable' }
  return new Fault(immutableField, `/${property} cannot change${remedy}`, { details })
}

/** Throws unless the read-only and fixed properties in a patch equal the record. */
async function requireUnchanged(
  { rule }: StoredRule,
  patch: PatchBody,
  { reader, filled }: Services,
  em: EntityManager
): Promise<void> {
  const { client, protocol, owner } = patch
  if (client !== undefined && !(await isClient(rule, String(client), em))) throw immutable('client')
  if (protocol !== undefined && String(protocol).toLowerCase() !== rule.protocol) throw immutable('protocol')
  if (owner !== undefined && owner !== rule.owner) throw immutable('owner')
  const repeated = readOnlyIn(filled).filter(key => key in patch)
  if (repeated.length === 0) return
  const record: Values = await reader.loadRecord(rule, em)
  const other = repeated.find(key => !isDeepStrictEqual(patch[key], record[key]))
  if (other === undefined) return
  const details = { field: `/${other}`, reason: 'read_only' }
  throw new Fault(unknownField, `/${other} is read-only, and not as the record has it`, { details })
}

/** Returns the properties of a patch that can change the rule. */
function editableIn(patch: PatchBody, { filled }: Services): Values {
  const others = new Set([...readOnlyIn(filled), ...fixedProperties, 'placed_by'])
  const editable = Object.fromEntries(Object.entries(patch).filter(([key]) => !others.has(key)))
  if (!patch.targets) return editable
  // A record shows more of a target, such as its health, which changes without a request.
  const targets = patch.targets.map(({ host, port, priority, weight }) => ({
    host,
    port,
    ...(priority !== undefined && { priority }),
    ...(weight !== undefined && { weight })
  }))
  return { ...editable, targets }
}
