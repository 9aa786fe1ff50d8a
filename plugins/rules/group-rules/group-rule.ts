// Wholes: rules that a field places on several clients. A whole is a row without a client; each of its clients has a part
// of it, a rule of its own that agents and engines take like any other. The API shows and changes the whole.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, limitReached } from '../../../kernel/base/errors.ts'
import { newId } from '../../../kernel/base/id.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Values } from '../api/rule-record.ts'
import { type AppliedChange, addedValues, applyChange, listChanges } from '../changes/apply-change.ts'
import type { EditCall, StoredRule, WantedRule } from '../changes/edit.ts'
import { insertRules, passing } from '../changes/insert-rules.ts'
import { insertRule, newRule, takenPorts } from '../changes/new-rule.ts'
import { clientsOf } from '../changes/placement.ts'
import { drainRule } from '../changes/remove-rules.ts'
import { writeRule } from '../changes/write-rule.ts'
import { type AfterCommit, runAll } from '../delivery/rule-states.ts'
import { RefusedMember, Rule } from '../entities.ts'
import { type ChangeBy, server } from '../fields/fields.ts'
import type { Services } from '../services.ts'
import { refusalOfEdges } from './group-refusal.ts'

export const maxParts = 1000

/** Returns the ids of the clients that are to have a part. */
async function membersOf(
  { fields }: Services,
  values: Values,
  among: readonly string[] | null,
  em: EntityManager
): Promise<readonly string[]> {
  const field = fields.placing()
  const value = field ? (values[field.key] ?? null) : null
  return value === null ? [] : ((await field?.clientsOf?.(value, among, em, field)) ?? [])
}

function requireFew(clients: readonly string[]): void {
  if (clients.length <= maxParts) return
  const message = `${clients.length} clients are chosen; a rule has at most ${maxParts}: choose fewer`
  throw new Fault(limitReached, message, { details: { limit: maxParts } })
}

const partOf = (whole: Rule, clientId: string, now: number): Rule =>
  newRule({ ...whole, id: newId(now), parent: whole.id, clientId }, now)

const livingParts = (whole: Pick<Rule, 'id'>, em: EntityManager, among: readonly string[] | null = null) =>
  em.find(
    Rule,
    { parent: whole.id, state: { $ne: 'draining' }, ...(among && { clientId: { $in: [...among] } }) },
    { orderBy: { id: 'asc' } }
  )

interface NewWhole extends ChangeBy {
  readonly values: Values
  readonly ifOffline: 'refuse' | 'queue'
}

/** Stores a whole and its parts, which are returned. Throws what keeps any of its clients from having it. */
export async function insertWhole(services: Services, whole: Rule, how: NewWhole): Promise<readonly Rule[]> {
  const { clock, fields } = services
  const { values, ifOffline, ...by } = how
  const { em } = by
  await insertRule({ ...whole, state: 'active', activatedAt: clock.now() }, em)
  await fields.check(whole, values, by)
  await fields.save(whole.id, values, by)
  const members = await membersOf(services, values, null, em)
  requireFew(members)
  const parts = members.map(clientId => partOf(whole, clientId, clock.now()))
  const faults = await insertRules(services, parts, fields.sent(values), { ...by, ifOffline })
  if (faults.size > 0) throw await refusalOf(services, parts, faults, by)
  return parts
}

/** Users without the superadmin role are told of no client on which they may not place rules. */
async function refusalOf(
  { filled }: Services,
  parts: readonly Rule[],
  faults: ReadonlyMap<string, Fault>,
  { principal, em }: { readonly principal: Principal; readonly em: EntityManager }
): Promise<Fault> {
  const isSuperadmin = principal.role === 'superadmin'
  const known = isSuperadmin ? null : await clientsOf(principal.userId, filled, em)
  return refusalOfEdges(parts, faults, isSuperadmin ? null : (known ?? new Set()), em)
}

/** Changes a whole and each of its parts, or throws what keeps any part from it. */
export async function changeWhole(
  services: Services,
  stored: StoredRule,
  { values, ...core }: WantedRule,
  how: EditCall
): Promise<AppliedChange> {
  const { clock, fields } = services
  const { rule } = stored
  const { mode, existing, ...by } = how
  const changes = listChanges(stored, { values, ...core })
  const whole: Rule = { ...rule, ...core, fields: fields.keysWith(rule, values) }
  await fields.check(whole, addedValues(changes, services), by)
  if (changes.length > 0) await writeRule(services, whole, { from: stored.values, to: values }, by)

  const members = await membersOf(services, values, null, by.em)
  requireFew(members)
  const faults = new Map<string, Fault>()
  const parts = await livingParts(rule, by.em)
  const [staying, leaving] = split(parts, ({ clientId }) => members.includes(clientId))
  const changed = await changeParts(services, staying, { values, ...core }, { how, faults })
  const known = new Set([...parts.map(({ clientId }) => clientId), ...(await refusedClients(rule, by.em))])
  const joining = members.filter(id => !known.has(id)).map(id => partOf(whole, id, clock.now()))
  const added = await insertRules(services, joining, fields.sent(given(values)), {
    ...by,
    ifOffline: mode === 'replace' ? 'refuse' : 'queue'
  })
  for (const [id, fault] of added) faults.set(id, fault)
  if (faults.size > 0) throw await refusalOf(services, [...parts, ...joining], faults, by)

  const left = await drainAll(services, leaving, by.em)
  const settled = await settleRefused(services, whole, values, null, by.em)
  return {
    changes,
    awaited: [...changed.flatMap(({ awaited }) => awaited), ...joining],
    woken: [...leaving, ...staying].map(({ clientId }) => clientId),
    afterCommit: () => runAll([...changed.map(({ afterCommit }) => afterCommit), left, settled])
  }
}

interface PartsHow {
  readonly how: EditCall
  readonly faults: Map<string, Fault>
}

/** Changes the parts; the faults of those that cannot change are added. */
async function changeParts(
  services: Services,
  parts: readonly Rule[],
  { values, ...core }: WantedRule,
  { how, faults }: PartsHow
): Promise<AppliedChange[]> {
  const { fields } = services
  const wanted = { ...definitionOf(core), values: { ...fields.none(), ...fields.sent(values) } }
  const stored = await fields.load(parts, how.em)
  const changed: AppliedChange[] = []
  const rows: Rule[] = []
  await passing(parts, faults, async part => {
    const own = { ...fields.none(), ...fields.sent(stored.get(part.id) ?? {}) }
    const result = await applyChange(services, { rule: part, values: own }, wanted, how)
    changed.push(result)
    if (result.row) rows.push(result.row)
  })
  for (const [id, fault] of await takenPorts(rows, services, how.em)) faults.set(id, fault)
  return changed
}

/** Without what else the row of a whole has. */
const definitionOf = (of: Omit<WantedRule, 'values'>): Omit<WantedRule, 'values'> => ({
  protocol: of.protocol,
  listenFrom: of.listenFrom,
  listenTo: of.listenTo,
  targets: of.targets,
  preferIpv6: of.preferIpv6,
  placedBy: of.placedBy,
  placedBySuperadmin: of.placedBySuperadmin,
  paused: of.paused
})

/** Takes a part from each of these clients; live connections drain. */
async function drainAll(services: Services, parts: readonly Rule[], em: EntityManager): Promise<AfterCommit> {
  const after: AfterCommit[] = []
  for (const part of parts) after.push((await drainRule(services, part, em)).afterCommit)
  return () => {
    runAll(after)
    for (const clientId of new Set(parts.map(({ clientId }) => clientId)))
      services.control.objects.wake(clientId)
  }
}

interface Settling {
  readonly among: readonly string[] | null
  readonly retries: boolean // also clients that refused the rule when it was new
  readonly values: Values // of the whole
}

/**
 * Gives its part to each client that is to have one, and takes it from those that are not, of all clients or those
 * `among` them. A client that cannot have it is kept as refused, with the code of the fault.
 */
export async function settleWhole(
  services: Services,
  whole: Rule,
  { among, retries, values }: Settling,
  em: EntityManager
): Promise<AfterCommit> {
  const members = new Set(await membersOf(services, values, among, em))
  const [staying, leaving] = split(await livingParts(whole, em, among), ({ clientId }) =>
    members.has(clientId)
  )
  const left = await drainAll(services, leaving, em)
  const [failed, parts] = split(
    staying,
    part => retries && part.state === 'failed' && part.activatedAt == null
  )
  for (const part of failed) await services.states.remove(part, em)
  const joined = await settleRefused(services, whole, values, { among, members: [...members], parts }, em)
  return () => runAll([left, joined])
}

interface Membership {
  readonly among: readonly string[] | null
  readonly members: readonly string[]
  readonly parts: readonly Rule[]
}

/** Tries the members that have no part, and keeps those that cannot have one as refused. */
async function settleRefused(
  services: Services,
  whole: Rule,
  values: Values,
  membership: Membership | null,
  em: EntityManager
): Promise<AfterCommit> {
  const { clock, control, fields } = services
  const among = membership?.among ?? null
  const members = (membership?.members ?? (await membersOf(services, values, null, em))).slice(0, maxParts)
  const parts = membership?.parts ?? (await livingParts(whole, em))
  const present = new Set(parts.map(({ clientId }) => clientId))
  const joining = members.filter(id => !present.has(id)).map(id => partOf(whole, id, clock.now()))
  const faults = await insertRules(services, joining, fields.sent(given(values)), {
    principal: server,
    em,
    ifOffline: 'queue'
  })
  const where = { parent: whole.id, ...(among && { clientId: { $in: [...among] } }) }
  const before = await em.find(RefusedMember, where)
  const refused = joining.flatMap(({ id, clientId }) => {
    const code = faults.get(id)?.errorCode.code.slice(0, 64)
    return code === undefined ? [] : [{ parent: whole.id, clientId, code }]
  })
  const textOf = (rows: readonly RefusedMember[]) =>
    rows.map(({ clientId, code }) => `${clientId} ${code}`).sort()
  if (!isDeepStrictEqual(textOf(before), textOf(refused))) {
    await em.nativeDelete(RefusedMember, where)
    if (refused.length > 0) await em.insertMany(RefusedMember, refused)
  }
  return () => {
    for (const { clientId } of joining) control.objects.wake(clientId)
  }
}

const refusedClients = async ({ id }: Rule, em: EntityManager): Promise<string[]> =>
  (await em.find(RefusedMember, { parent: id })).map(({ clientId }) => clientId)

const given = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))

function split<T>(all: readonly T[], is: (one: T) => boolean): [T[], T[]] {
  return [all.filter(is), all.filter(one => !is(one))]
}
