// Stores a changed rule. Until the agent has applied the change, the row keeps the earlier definition too: its ports stay
// reserved, and a refusal restores it.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import type { Values } from '../api/rule-record.ts'
import { type AfterCommit, isInForce, stateInForce } from '../delivery/rule-states.ts'
import { type EarlierDefinition, type ExistingMode, nothingPending, type Ports, Rule } from '../entities.ts'
import { type ChangeBy, serverPrincipal } from '../fields/fields.ts'
import type { Services } from '../services.ts'
import { isSuperadmin } from './placement.ts'

/** Writes the row and the fields that differ. `from` and `to` have every loaded field; null means no value. */
export async function writeRule(
  { clock, fields }: Services,
  rule: Rule,
  { from, to }: { readonly from: Values; readonly to: Values },
  by: ChangeBy
): Promise<void> {
  const { id } = rule
  const row = { ...rule, updatedAt: clock.now() }
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
  readonly whenPortInUse: EarlierDefinition['whenPortInUse']
}

/** Returns the row of a change. It keeps the definition in force until the agent has applied the change. */
export function withPendingChange({ rule, next, values, existing, whenPortInUse }: PendingChange): Rule {
  const former = formerPlaces(rule, next)
  if (!isInForce(rule))
    return { ...next, ...former, ...nothingPending, existing: strictest(rule.existing, existing) }
  const { placedBy, targets, preferIpv6, paused } = rule
  const inForce = rule.before ?? {
    rule: { placedBy, targets, preferIpv6, paused },
    values: {},
    whenPortInUse
  }
  const before: EarlierDefinition = {
    rule: inForce.rule,
    values: { ...values, ...inForce.values },
    whenPortInUse: inForce.whenPortInUse === 'keep' ? whenPortInUse : 'undo'
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

function formerPlaces(rule: Rule, next: Rule): Pick<Rule, 'formerTargets' | 'formerPorts'> {
  const targets = [...rule.targets, ...(rule.formerTargets ?? [])]
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

/** Restores the definition that the agent has, after it refused a change. */
export async function undoChange(services: Services, rule: Rule, em: EntityManager): Promise<AfterCommit> {
  const { before } = rule
  if (!before) throw new TypeError(`rule ${rule.id} has no pending change`)
  const { fields, states } = services
  const from = (await fields.load([rule], em)).get(rule.id) ?? {}
  const earlier: Rule = {
    ...rule,
    ...before.rule,
    ...nothingPending,
    fields: fields.keysWith(rule, before.values)
  }
  const withoutDerived = {
    ...earlier,
    ...formerPlaces(rule, earlier),
    listenFrom: rule.movedFrom ?? rule.listenFrom,
    listenTo: rule.movedTo ?? rule.listenTo,
    placedBySuperadmin: await isSuperadmin(earlier.placedBy, em)
  }
  const [restored = withoutDerived] = await fields.withDerived([withoutDerived], em)
  await writeRule(
    services,
    restored,
    { from, to: { ...from, ...before.values } },
    { principal: serverPrincipal, em }
  )
  return isInForce(rule) ? states.enter(rule, { state: stateInForce(restored) }, em) : () => {}
}
