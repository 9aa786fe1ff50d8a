// What an agent still has while a change is not applied yet: a refusal puts it back, and its ports stay reserved.
import type { EntityManager } from '@mikro-orm/sql'
import type { Values } from '../api/rule-record.ts'
import { type AfterCommit, isInForce, stateInForce } from '../delivery/rule-states.ts'
import { type Before, type Existing, nothingPending, type Ports, type Rule } from '../entities.ts'
import { server } from '../fields/fields.ts'
import type { Services } from '../services.ts'
import { isSuperadmin } from './placement.ts'
import { write } from './write-rule.ts'

/** Connections outlive changes, and an agent may report bytes of former targets and ports for as long. */
const maxFormer = { targets: 256, ports: 64 }

interface ChangeOf {
  readonly rule: Rule
  readonly next: Rule
  readonly values: Values // those that are replaced; null: there was none
  readonly existing: Existing
  readonly whenPortInUse: Before['whenPortInUse']
}

/** Returns the row of a change, which keeps what is in force until the agent has applied the change. */
export function withBefore({ rule, next, values, existing, whenPortInUse }: ChangeOf): Rule {
  const former = formerOf(rule, next)
  if (!isInForce(rule))
    return { ...next, ...former, ...nothingPending, existing: strictest(rule.existing, existing) }
  const { placedBy, targets, preferIpv6, paused } = rule
  const first = rule.before ?? { rule: { placedBy, targets, preferIpv6, paused }, values: {}, whenPortInUse }
  const before: Before = {
    rule: first.rule,
    values: { ...values, ...first.values },
    whenPortInUse: first.whenPortInUse === 'keep' ? whenPortInUse : 'undo'
  }
  const [movedFrom, movedTo] = [rule.movedFrom ?? rule.listenFrom, rule.movedTo ?? rule.listenTo]
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

function formerOf(rule: Rule, next: Rule): Pick<Rule, 'formerTargets' | 'formerPorts'> {
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

const severity: readonly Existing[] = ['keep', 'drain', 'cut']

/** Of several changes that the agent has not applied, it gets the strictest. */
const strictest = (waiting: Existing | null | undefined, added: Existing): Existing =>
  severity[Math.max(severity.indexOf(waiting ?? 'keep'), severity.indexOf(added))] ?? added

/** Puts back what the agent has, after it refused a change. */
export async function undoChange(services: Services, rule: Rule, em: EntityManager): Promise<AfterCommit> {
  const { before } = rule
  if (!before) throw new TypeError(`rule ${rule.id} is not being changed`)
  const { fields, states } = services
  const from = (await fields.load([rule], em)).get(rule.id) ?? {}
  const earlier: Rule = {
    ...rule,
    ...before.rule,
    ...nothingPending,
    fields: fields.keysWith(rule, before.values)
  }
  const given = {
    ...earlier,
    ...formerOf(rule, earlier),
    listenFrom: rule.movedFrom ?? rule.listenFrom,
    listenTo: rule.movedTo ?? rule.listenTo,
    placedBySuperadmin: await isSuperadmin(earlier.placedBy, em)
  }
  const [restored = given] = await fields.withDerived([given], em)
  await write(services, restored, { from, to: { ...from, ...before.values } }, { principal: server, em })
  return isInForce(rule) ? states.enter(rule, { state: stateInForce(restored) }, em) : () => {}
}
