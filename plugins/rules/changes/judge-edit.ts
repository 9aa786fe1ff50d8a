// Turns an edit into the rule that it asks for. Tests fix the order of the errors.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { managesAll, unknownField } from '../../http/exports.ts'
import type { Values } from '../api/rule-record.ts'
import { type DefinitionBody, type PatchBody, readOnlyIn, type UpdateBody } from '../api/schema.ts'
import { bodyEmpty, immutableField } from '../codes.ts'
import { isGroupRule, type Rule } from '../entities.ts'
import type { ChangeBy, Fields } from '../fields/fields.ts'
import { withoutPaths } from '../fields/target-values.ts'
import type { Services } from '../services.ts'
import { listRuleChanges } from './apply-change.ts'
import type { Edit, StoredRule, WantedRule } from './edit.ts'
import { mergeBody } from './merge-body.ts'
import { type Draft, parseDraft } from './parse-draft.ts'
import { requirePlace, resolvePlacement } from './placement.ts'

/** Throws for an empty body, and unless a PUT is a whole rule or has a field that it changes. */
export function requireContent({ mode, body }: Edit, fields: Fields): void {
  if (mode === 'live') requireFields(body)
  if (mode !== 'hot' || isWholeBody(body)) return
  if (Object.keys(body).length === 0)
    throw new Fault(bodyEmpty, 'the body is empty; send the whole rule or the fields to change')
  const updatable = fields.updatable()
  if (updatable.some(({ key }) => key in body)) return
  const allowed = updatable.map(({ key }) => key).join(', ') || 'no field of the loaded plugins'
  const [first] = updatable
  throw new Fault(
    (first?.change === 'hot' && first.updateEmpty) || immutableField,
    `only ${allowed} may change by PUT; send it, or the whole rule with listen_port and targets; PATCH changes the rest`
  )
}

function requireFields(patch: Values): void {
  if (Object.keys(patch).length > 0) return
  throw new Fault(bodyEmpty, 'the body is empty; send the fields to change')
}

/** Throws if the body would be invalid for every rule. */
export function requireValid(edit: Edit, services: Services, principal: Principal): void {
  const body = wholeBody(edit, null, services)
  services.fields.parse(body, parseBody(body, services), principal)
}

/** Returns the rule that the edit asks for. Throws if the stored rule must not become that rule. */
export async function judgeEdit(
  services: Services,
  given: Edit,
  stored: StoredRule,
  by: ChangeBy
): Promise<WantedRule> {
  const { fields, filled } = services
  const { principal, em } = by
  const { rule } = stored
  const { mode } = given
  if (mode === 'live') await requireUnchanged(services, given.body, rule, em)
  const edit = await resolveEdit(services, given, stored, by)
  const body = wholeBody(edit, stored, services)
  const draft = parseBody(body, services)
  const requested = { ...edit.body, ...draftBody(draft) }
  if (mode === 'hot') {
    await requireStored(requested, fixed.hot, rule, em)
    for (const field of fields.fixedInUpdate()) {
      const value = fields.parseField(field, body, draft, principal)
      if (!isDeepStrictEqual(value, stored.values[field.key] ?? null))
        throw immutable(field.ofTargets ? 'targets' : field.key)
    }
  } else fields.requireShape(draft)
  const staying = mode === 'replace' ? fields.staying(body, stored.values) : {}
  const values = { ...fields.parseAll(body, draft, principal), ...staying }
  const targets = fields.withPaths(draft.targets, values)
  const wanted = { ...rule, ...draft, targets, paused: body.paused ?? false, values }
  const place = placeIn(edit, stored, wanted, services, principal)
  const placed = place && (await resolvePlacement(place, principal, filled, em, rule))
  const next = { ...wanted, ...placed }
  if (mode === 'replace')
    await requireStored({ ...requested, client: next.clientId, owner: next.owner }, fixed.replace, rule, em)
  const placing = fields.placing()
  if (placing && isGroupRule(rule) !== ((values[placing.key] ?? null) !== null)) throw immutable(placing.key)
  return next
}

/** Returns the edit with what is stored instead of what it names. Throws first if it is invalid as written. */
async function resolveEdit(services: Services, edit: Edit, stored: StoredRule, by: ChangeBy): Promise<Edit> {
  const { fields } = services
  if (!fields.names(edit.body)) return edit
  const asWritten = wholeBody(edit, stored, services)
  fields.parseAll(asWritten, parseBody(asWritten, services), by.principal)
  const body = await fields.resolve(edit.body, { ...by, clientId: stored.rule.clientId })
  return { ...edit, body } as Edit // of the same mode
}

const parseBody = (body: DefinitionBody, { fields }: Pick<Services, 'fields'>): Draft =>
  parseDraft(body, fields.distinguishingTargets())

const anyRule = { listen_port: 1, targets: [{ host: '192.0.2.1', port: 1 }] }

/** Returns the whole rule that a body asks for; without a stored rule, as an edit of any rule. */
function wholeBody({ mode, body }: Edit, stored: StoredRule | null, services: Services): DefinitionBody {
  const { paused = false } = stored?.rule ?? {}
  if (mode === 'replace') return { paused, ...body }
  const base = stored ? { ...storedBody(stored, services), paused } : anyRule
  if (mode === 'live') return mergeBody(base, editableIn(body, services), services)
  if (isWholeBody(body)) return { paused, ...services.fields.staying(body, stored?.values ?? {}), ...body }
  return { ...base, ...body, ...(!stored && { listen_port_end: null }) }
}

const isWholeBody = (body: UpdateBody): body is DefinitionBody => 'listen_port' in body && 'targets' in body

/** Returns a stored rule as a request has it. */
const storedBody = ({ rule, values }: StoredRule, { fields }: Pick<Services, 'fields'>) => ({
  ...draftBody(rule),
  ...fields.ofRule(values),
  targets: fields.withTargets(rule.targets, values)
})

/** Returns a draft as a request has it. */
export const draftBody = ({ protocol, listenFrom, listenTo, targets, preferIpv6 }: Draft) => ({
  protocol,
  listen_port: listenFrom,
  listen_port_end: listenTo === listenFrom ? null : listenTo,
  targets: withoutPaths(targets),
  prefer_ipv6: preferIpv6
})

/** Properties that an edit must leave as they are, in the order of their errors. */
const fixed = {
  hot: [
    'protocol',
    'listen_port',
    'listen_port_end',
    'targets',
    'prefer_ipv6',
    'paused',
    'owner',
    'placed_by',
    'client'
  ],
  live: ['client', 'protocol', 'owner'],
  replace: ['client', 'owner', 'protocol', 'listen_port', 'listen_port_end']
}

/** Throws unless the given properties equal those of the stored rule. */
async function requireStored(given: Values, properties: readonly string[], rule: Rule, em: EntityManager) {
  const { clientId: id, owner, placedBy: placed_by, paused } = rule
  const same: Values = { ...draftBody(rule), paused, owner, placed_by, client: id }
  for (const property of properties) {
    const value = given[property]
    if (value === undefined || isDeepStrictEqual(value, same[property])) continue
    const isNamed = property === 'client' && (await em.count(Client, { id, name: String(value) })) > 0
    if (!isNamed) throw immutable(property)
  }
}

/** Throws unless the read-only and fixed properties in a patch equal the record. */
async function requireUnchanged(
  { reader, filled }: Services,
  patch: PatchBody,
  rule: Rule,
  em: EntityManager
) {
  const { protocol } = patch
  const given = { ...patch, protocol: protocol === undefined ? protocol : String(protocol).toLowerCase() }
  await requireStored(given, fixed.live, rule, em)
  const repeated = readOnlyIn(filled).filter(key => key in patch)
  if (repeated.length === 0) return
  const record: Values = await reader.loadRecord(rule, em)
  const other = repeated.find(key => !isDeepStrictEqual(patch[key], record[key]))
  if (other === undefined) return
  const details = { field: `/${other}`, reason: 'read_only' }
  throw new Fault(unknownField, `/${other} is read-only, and not as the record has it`, { details })
}

/** Returns the properties of a patch that can change the rule. */
function editableIn(patch: PatchBody, { filled, fields }: Services): Values {
  const others = new Set([...readOnlyIn(filled), ...fixed.live, 'placed_by'])
  const editable = Object.fromEntries(Object.entries(patch).filter(([key]) => !others.has(key)))
  if (!patch.targets) return editable
  // A record shows more of a target, such as its health, which changes without a request.
  const shown = ['host', 'port', 'priority', 'weight', ...fields.targetKeys()]
  const targets = patch.targets.map(target =>
    Object.fromEntries(Object.entries(target).filter(([key]) => shown.includes(key)))
  )
  return { ...editable, targets }
}

/**
 * Returns the place to resolve; null: the rule stays there. Whoever changes where a rule listens or forwards has placed it,
 * and grants limit them; operators and superadmins leave that as it is.
 */
function placeIn(
  { mode, body }: Edit,
  stored: StoredRule,
  wanted: WantedRule,
  { fields }: Services,
  caller: Principal
): Pick<DefinitionBody, 'client' | 'owner' | 'placed_by'> | null {
  if (mode === 'replace') requirePlace(body.client, wanted.values, fields.placing())
  if (mode !== 'live') return mode === 'hot' ? null : body
  const { rule } = stored
  const isMoved = listRuleChanges(stored, wanted).some(
    ({ field }) => !fields.isHot(field) && field !== 'paused'
  )
  if (body.placed_by === undefined && !isMoved) return null
  const placer = body.placed_by ?? (managesAll(caller) ? rule.placedBy : undefined)
  return {
    ...(!isGroupRule(rule) && { client: rule.clientId }),
    owner: rule.owner,
    ...(placer !== undefined && { placed_by: placer })
  }
}

/** Throws if a patch of several rules is empty, or names a property that no rule can change. */
export function requireEditable(patch: Values): void {
  requireFields(patch)
  const property = fixed.live.find(key => key in patch)
  if (property !== undefined) throw immutable(property, '/patch')
}

function immutable(property: string, at = ''): Fault {
  const remedy = fixed.live.includes(property)
    ? '; remove the rule and create another'
    : ' by PUT; PATCH changes it'
  const field = `${at}/${property}`
  return new Fault(immutableField, `${field} cannot change${remedy}`, {
    details: { field, reason: 'immutable' }
  })
}
