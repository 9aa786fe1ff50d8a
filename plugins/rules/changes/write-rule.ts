// Stores a changed rule. Until the agent has applied the change, the row keeps the earlier definition too: its ports stay
// reserved, and a refusal restores it.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import type { FieldChange } from '../../../kernel/http/route.ts'
import type { Values } from '../api/rule-record.ts'
import { type AfterCommit, isInForce, stateInForce } from '../delivery/rule-states.ts'
import { type EarlierDefinition, type ExistingMode, nothingPending, type Ports, Rule } from '../entities.ts'
import { type ChangeBy, serverPrincipal } from '../fields/fields.ts'
import { withoutPaths } from '../fields/target-values.ts'
import { withFreeName } from '../names/rule-names.ts'
import type { Services } from '../services.ts'
import type { EditCall } from './edit.ts'
import { mergePatch } from './merge-body.ts'
import { isManager } from './placement.ts'

/** Writes the row and the fields that differ. `from` and `to` have every loaded field; null means no value. */
export async function writeRule(
  { clock, fields }: Services,
  rule: Rule,
  { from, to }: { readonly from: Values; readonly to: Values },
  by: ChangeBy,
  updatedAt = clock.now()
): Promise<void> {
  const { id } = rule
  const row = { ...rule, updatedAt }
  const changed = Object.fromEntries(
    Object.entries(to).filter(([key, value]) => !isDeepStrictEqual(value, from[key] ?? null))
  )
  await by.em.nativeUpdate(Rule, { id }, changeableColumns(row))
  await fields.save(id, changed, by)
}

/** The columns that a change writes. `RuleStates` writes the state columns. */
const changeableColumns = (rule: Rule) => ({
  placedBy: rule.placedBy,
  listenFrom: rule.listenFrom,
  listenTo: rule.listenTo,
  targets: rule.targets,
  preferIpv6: rule.preferIpv6,
  fields: rule.fields,
  paused: rule.paused,
  formerTargets: rule.formerTargets ?? null,
  formerPorts: rule.formerPorts ?? null,
  before: rule.before ?? null,
  movedFrom: rule.movedFrom ?? null,
  movedTo: rule.movedTo ?? null,
  existing: rule.existing ?? null,
  updatedAt: rule.updatedAt
})

/** Connections outlive changes: agents report bytes of former targets and ports until the connections end. */
const maxFormer = { targets: 256, ports: 64 }

interface PendingChange {
  readonly rule: Rule
  readonly next: Rule
  readonly values: Values // of the changed fields, before the change; null: no value
  readonly existing: ExistingMode
  readonly isUndone: boolean // by a refusal
  readonly whenPortInUse: EarlierDefinition['whenPortInUse']
}

/** Returns the row of a change. It keeps the rule as it was until the agent has applied the change. */
export function withPendingChange({ rule, next, values, existing, ...change }: PendingChange): Rule {
  const former = formerPlaces(rule, next)
  if (!change.isUndone)
    return { ...next, ...former, ...nothingPending, existing: strictest(rule.existing, existing) }
  const first = rule.before ?? earlierDefinition(rule, change.whenPortInUse)
  const before: EarlierDefinition = {
    ...first,
    values: { ...values, ...first.values },
    whenPortInUse: first.whenPortInUse === 'keep' ? change.whenPortInUse : 'undo'
  }
  const movedFrom = rule.movedFrom ?? rule.listenFrom
  const movedTo = rule.movedTo ?? rule.listenTo
  const isMoved = movedFrom !== next.listenFrom || movedTo !== next.listenTo
  return {
    ...next,
    ...former,
    before,
    movedFrom: isMoved ? movedFrom : null,
    movedTo: isMoved ? movedTo : null,
    existing: strictest(rule.existing, existing)
  }
}

function earlierDefinition(rule: Rule, whenPortInUse: EarlierDefinition['whenPortInUse']): EarlierDefinition {
  const { placedBy, targets, preferIpv6, paused, updatedAt, state, stateReason } = rule
  const failedWith = state === 'failed' && stateReason != null ? { failedWith: stateReason } : {}
  return {
    rule: { placedBy, targets, preferIpv6, paused },
    values: {},
    updatedAt,
    ...failedWith,
    whenPortInUse
  }
}

/**
 * Returns the row of a change that no agent gets and that is in force at once. If other changes are pending, their refusal
 * must not undo it.
 */
export function withServerChange(
  { clock, fields }: Services,
  rule: Rule,
  changes: readonly FieldChange[],
  { patch = {}, principal }: Pick<EditCall, 'patch' | 'principal'>
): Rule {
  const { before } = rule
  if (!before) return rule
  const values = { ...before.values }
  for (const { field, to } of changes.filter(({ field }) => field in before.values)) {
    const merged = field in patch ? mergePatch(values[field], patch[field]) : to
    const value = fields.tryParse(field, merged, rule, principal)
    values[field] = value === undefined ? to : value
  }
  return { ...rule, before: { ...before, values, updatedAt: clock.now() } }
}

function formerPlaces(rule: Rule, next: Rule): Pick<Rule, 'formerTargets' | 'formerPorts'> {
  const targets = withoutPaths([...rule.targets, ...(rule.formerTargets ?? [])])
  const ports: Ports[] = [{ from: rule.listenFrom, to: rule.listenTo }, ...(rule.formerPorts ?? [])]
  const without = <T>(all: readonly T[], present: readonly T[], keyOf: (one: T) => string): T[] => {
    const known = new Set(present.map(keyOf))
    return all.filter(one => !known.has(keyOf(one)) && known.add(keyOf(one)))
  }
  const formerTargets = without(targets, next.targets, ({ host, port }) => `${host} ${port}`)
  const formerPorts = without(
    ports,
    [{ from: next.listenFrom, to: next.listenTo }],
    ({ from, to }) => `${from}-${to}`
  )
  return {
    formerTargets: formerTargets.length === 0 ? null : formerTargets.slice(0, maxFormer.targets),
    formerPorts: formerPorts.length === 0 ? null : formerPorts.slice(0, maxFormer.ports)
  }
}

const severity: readonly ExistingMode[] = ['keep', 'drain', 'cut']

/** Several pending changes reach the agent as one, with the strictest of their modes. */
const strictest = (waiting: ExistingMode | null | undefined, added: ExistingMode): ExistingMode =>
  severity[Math.max(severity.indexOf(waiting ?? 'keep'), severity.indexOf(added))] ?? added

/** Restores the rule as it was, after its agent refused a change with the code. A rule that was never active fails. */
export async function undoChange(
  services: Services,
  rule: Rule,
  code: string,
  em: EntityManager
): Promise<AfterCommit> {
  const { before } = rule
  if (!before) throw new TypeError(`rule ${rule.id} has no pending change`)
  const { fields, parts, states } = services
  const from = (await fields.load([rule], em)).get(rule.id) ?? {}
  const to = { ...from, ...(await withFreeName(before.values, rule, em)) }
  const earlier: Rule = {
    ...rule,
    ...before.rule,
    ...nothingPending,
    fields: fields.keysWith(rule, to)
  }
  const withoutDerived = {
    ...earlier,
    ...formerPlaces(rule, earlier),
    listenFrom: rule.movedFrom ?? rule.listenFrom,
    listenTo: rule.movedTo ?? rule.listenTo,
    isExempt: await isManager(earlier.placedBy, em)
  }
  const [restored = withoutDerived] = await fields.withDerived([withoutDerived], em)
  await writeRule(services, restored, { from, to }, { principal: serverPrincipal, em }, before.updatedAt)
  await parts.sync([restored], 'stored', em)
  return isInForce(rule)
    ? states.enter(rule, { state: stateInForce(restored) }, em)
    : states.fail(rule, { code: before.failedWith ?? code }, em)
}
