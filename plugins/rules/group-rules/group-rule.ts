// Group rules: a field such as `clients` places them on several clients. The row of a group rule has no client. Each of the
// clients has a member: a rule that agents and engines take like any other. The API shows and changes the group rule.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import type { Fault } from '../../../kernel/base/errors.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Values } from '../api/rule-record.ts'
import { type AppliedChange, addedValues, applyChange, listRuleChanges } from '../changes/apply-change.ts'
import { collectAnswers } from '../changes/client-answers.ts'
import type { EditCall, StoredRule, WantedRule } from '../changes/edit.ts'
import { insertRule, insertRules, keepPassing, newRule, takenPorts } from '../changes/insert-rules.ts'
import { drainRule } from '../changes/remove-rules.ts'
import { writeRule } from '../changes/write-rule.ts'
import { type AfterCommit, runAll } from '../delivery/rule-states.ts'
import { RefusedMember, Rule } from '../entities.ts'
import { type ChangeBy, presentValues, serverPrincipal } from '../fields/fields.ts'
import { targetsOn } from '../fields/target-values.ts'
import type { Services } from '../services.ts'
import { chosenClients, maxMembers, requireFewMembers } from './chosen-clients.ts'
import { groupRefusal } from './group-refusal.ts'

const newMember = (rule: Rule, clientId: string, now: number): Rule =>
  newRule(
    { ...rule, id: newId(now), parent: rule.id, clientId, targets: targetsOn(clientId, rule.targets) },
    now
  )

const listMembers = (rule: Pick<Rule, 'id'>, em: EntityManager, among: readonly string[] | null = null) =>
  em.find(
    Rule,
    { parent: rule.id, state: { $ne: 'draining' }, ...(among && { clientId: { $in: [...among] } }) },
    { orderBy: { id: 'asc' } }
  )

interface NewGroupRule extends ChangeBy {
  readonly values: Values
  readonly ifOffline: 'refuse' | 'queue'
}

/** Stores a group rule and its members, and returns the members. Throws if it is refused on any client. */
export async function insertGroupRule(
  services: Services,
  rule: Rule,
  call: NewGroupRule
): Promise<readonly Rule[]> {
  const { clock, fields } = services
  const { values, ifOffline, ...by } = call
  const { em } = by
  await insertRule({ ...rule, state: 'active', activatedAt: clock.now() }, em)
  await fields.check(rule, values, by)
  await fields.save(rule.id, values, by)
  const clients = await chosenClients(services, rule, values, null, em)
  requireFewMembers(clients)
  const members = clients.map(clientId => newMember(rule, clientId, clock.now()))
  const faults = await insertRules(services, members, fields.ofMembers(values), { ...by, ifOffline })
  if (faults.size > 0) throw await groupRefusal(members, faults, em)
  return members
}

/** Changes a group rule and its members. Throws if any member cannot change. */
export async function changeGroupRule(
  services: Services,
  stored: StoredRule,
  wanted: WantedRule,
  call: EditCall
): Promise<AppliedChange> {
  const { clock, fields } = services
  const { rule } = stored
  const { mode, existing: _, patch: __, ...by } = call
  const { values, ...core } = wanted
  const changes = listRuleChanges(stored, wanted)
  const next: Rule = { ...rule, ...core, fields: fields.keysWith(rule, values) }
  await fields.check(next, addedValues(changes, services), by)
  if (changes.length > 0) await writeRule(services, next, { from: stored.values, to: values }, by)

  const clients = await chosenClients(services, next, values, null, by.em)
  requireFewMembers(clients)
  const faults = new Map<string, Fault>()
  const members = await listMembers(rule, by.em)
  const [staying, leaving] = partition(members, ({ clientId }) => clients.includes(clientId))
  const changed = await changeMembers(services, staying, wanted, { call, faults })
  const refusing = await listRefusedClients(rule, by.em)
  const known = new Set([...members.map(({ clientId }) => clientId), ...refusing])
  const joining = clients.filter(id => !known.has(id)).map(id => newMember(next, id, clock.now()))
  const added = await insertRules(services, joining, fields.ofMembers(presentValues(values)), {
    ...by,
    ifOffline: mode === 'replace' ? 'refuse' : 'queue'
  })
  for (const [id, fault] of added) faults.set(id, fault)
  if (faults.size > 0) throw await groupRefusal([...members, ...joining], faults, by.em)

  const joined = await collectAnswers(services, joining, 'push', by.em)
  const drained = await drainMembers(services, leaving, by.em)
  const retried = await retryRefused(services, next, values, null, by.em)
  return {
    changes,
    awaited: [...changed.flatMap(({ awaited }) => awaited), ...joined],
    woken: [...leaving, ...staying].map(({ clientId }) => clientId),
    afterCommit: () => runAll([...changed.map(({ afterCommit }) => afterCommit), drained, retried])
  }
}

interface MembersCall {
  readonly call: EditCall
  readonly faults: Map<string, Fault>
}

/** Changes members, and adds the fault of each member that cannot change. */
async function changeMembers(
  services: Services,
  members: readonly Rule[],
  { values, ...core }: WantedRule,
  { call, faults }: MembersCall
): Promise<AppliedChange[]> {
  const { fields } = services
  const wanted = { ...sharedDefinition(core), values: { ...fields.none(), ...fields.sent(values) } }
  const stored = await fields.load(members, call.em)
  const changed: AppliedChange[] = []
  const rows: Rule[] = []
  await keepPassing(members, faults, async member => {
    const own = { ...fields.none(), ...fields.sent(stored.get(member.id) ?? {}) }
    const targets = targetsOn(member.clientId, wanted.targets)
    const result = await applyChange(services, { rule: member, values: own }, { ...wanted, targets }, call)
    changed.push(result)
    if (result.row) rows.push(result.row)
  })
  for (const [id, fault] of await takenPorts(rows, services, call.em)) faults.set(id, fault)
  return changed
}

/** Leaves out other columns of the group rule's row. */
const sharedDefinition = (rule: Omit<WantedRule, 'values'>): Omit<WantedRule, 'values'> => ({
  protocol: rule.protocol,
  listenFrom: rule.listenFrom,
  listenTo: rule.listenTo,
  targets: rule.targets,
  preferIpv6: rule.preferIpv6,
  placedBy: rule.placedBy,
  isExempt: rule.isExempt,
  paused: rule.paused
})

/** Removes members from their clients; live connections drain. */
async function drainMembers(
  services: Services,
  members: readonly Rule[],
  em: EntityManager
): Promise<AfterCommit> {
  const after: AfterCommit[] = []
  for (const member of members) after.push((await drainRule(services, member, em)).afterCommit)
  return () => {
    runAll(after)
    for (const clientId of new Set(members.map(({ clientId }) => clientId)))
      services.control.objects.wake(clientId)
  }
}

interface SyncOptions {
  readonly among: readonly string[] | null // ids of clients; null: all
  readonly retriesFailed: boolean // also members that their agent refused at create
  readonly values: Values // of the group rule
}

/**
 * Creates a member on each client that the rule's field chooses, and drains the others, among all clients or some. Stores
 * each refused member with the code of its fault.
 */
export async function syncGroupRule(
  services: Services,
  rule: Rule,
  { among, retriesFailed, values }: SyncOptions,
  em: EntityManager
): Promise<AfterCommit> {
  const clients = new Set(await chosenClients(services, rule, values, among, em))
  const present = await listMembers(rule, em, among)
  const [staying, leaving] = partition(present, ({ clientId }) => clients.has(clientId))
  const drained = await drainMembers(services, leaving, em)
  const [failed, members] = partition(
    staying,
    member => retriesFailed && member.state === 'failed' && member.activatedAt == null
  )
  for (const member of failed) await services.states.remove(member, em)
  const retried = await retryRefused(services, rule, values, { among, clients: [...clients], members }, em)
  return () => runAll([drained, retried])
}

interface Membership {
  readonly among: readonly string[] | null
  readonly clients: readonly string[]
  readonly members: readonly Rule[]
}

/** Creates the missing members. Stores each refused member with the code of its fault. */
async function retryRefused(
  services: Services,
  rule: Rule,
  values: Values,
  membership: Membership | null,
  em: EntityManager
): Promise<AfterCommit> {
  const { clock, control, fields } = services
  const among = membership?.among ?? null
  const clients = membership?.clients ?? (await chosenClients(services, rule, values, null, em))
  const members = membership?.members ?? (await listMembers(rule, em))
  const present = new Set(members.map(({ clientId }) => clientId))
  const missing = clients.slice(0, maxMembers).filter(id => !present.has(id))
  const joining = missing.map(id => newMember(rule, id, clock.now()))
  const faults = await insertRules(services, joining, fields.ofMembers(presentValues(values)), {
    principal: serverPrincipal,
    em,
    ifOffline: 'queue'
  })
  const where = { parent: rule.id, ...(among && { clientId: { $in: [...among] } }) }
  const before = await em.find(RefusedMember, where)
  const refused = joining.flatMap(({ id, clientId }) => {
    const code = faults.get(id)?.errorCode.code.slice(0, 64)
    return code === undefined ? [] : [{ parent: rule.id, clientId, code }]
  })
  const toLines = (rows: readonly RefusedMember[]) =>
    rows.map(({ clientId, code }) => `${clientId} ${code}`).sort()
  if (!isDeepStrictEqual(toLines(before), toLines(refused))) {
    await em.nativeDelete(RefusedMember, where)
    if (refused.length > 0) await em.insertMany(RefusedMember, refused)
  }
  return () => {
    for (const { clientId } of joining) control.objects.wake(clientId)
  }
}

const listRefusedClients = async ({ id }: Rule, em: EntityManager): Promise<string[]> =>
  (await em.find(RefusedMember, { parent: id })).map(({ clientId }) => clientId)

function partition<T>(all: readonly T[], matches: (one: T) => boolean): [T[], T[]] {
  return [all.filter(matches), all.filter(one => !matches(one))]
}
