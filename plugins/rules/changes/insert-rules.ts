import { setImmediate } from 'node:timers/promises'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Values } from '../api/rule-record.ts'
import { objectKeyOf } from '../delivery/rule-states.ts'
import { Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import { requireCapableClient, requireCapablePeer } from '../fields/requirements.ts'
import type { Services } from '../services.ts'
import { type Faults, insertRule, overLimits, takenPorts } from './new-rule.ts'
import { admitRule } from './placement.ts'

interface InsertCall extends ChangeBy {
  readonly ifOffline: 'refuse' | 'queue'
}

/**
 * Stores rules with one definition, each on another client: one rule, or the members of a group rule. Returns the first fault
 * of each rule that its client cannot have; that rule is not stored. After the commit, the others are sent.
 */
export async function insertRules(
  services: Services,
  given: readonly Rule[],
  values: Values,
  { ifOffline, ...by }: InsertCall
): Promise<Faults> {
  const { config, control, filled, fields } = services
  const { em } = by
  const faults = new Map<string, Fault>()
  const admitted = await keepPassing(given, faults, rule => admitRule(rule, filled, em))
  const derived = await fields.withDerived(admitted, em)
  const capable = await keepPassing(derived, faults, async rule =>
    ifOffline === 'queue' ? requireCapableClient(services, rule, em) : requireCapablePeer(services, rule)
  )
  const stored = await keepPassing(capable, faults, async rule => {
    await insertRule(rule, em)
    await fields.check(rule, values, by)
    await fields.save(rule.id, values, by)
  })
  for (const [id, fault] of await takenPorts(stored, services, em)) faults.set(id, fault)
  const free = stored.filter(({ id }) => !faults.has(id))
  for (const [id, fault] of await overLimits(free, config, em)) faults.set(id, fault)
  if (faults.size > 0) await em.nativeDelete(Rule, { id: { $in: [...faults.keys()] } })
  for (const rule of free) if (!faults.has(rule.id)) await control.objects.put(em, objectKeyOf(rule))
  return faults
}

const rulesPerTurn = 32

/** Returns the rules that pass the check, and adds the faults of the others. */
export async function keepPassing<R extends { readonly id: string }>(
  rules: readonly R[],
  faults: Map<string, Fault>,
  check: (rule: R) => Promise<void>
): Promise<R[]> {
  for (const [at, rule] of rules.entries()) {
    if (at % rulesPerTurn === rulesPerTurn - 1) await setImmediate() // a transaction of the embedded store does not yield to the event loop
    await check(rule).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      faults.set(rule.id, error)
    })
  }
  return rules.filter(({ id }) => !faults.has(id))
}
