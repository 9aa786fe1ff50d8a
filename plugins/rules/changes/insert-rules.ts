// Stores new rules, and checks their ports and limits in the same transaction.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { defineCode, Fault, limitReached } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import type { Values } from '../api/rule-record.ts'
import { shownStates } from '../api/shown-states.ts'
import { objectKeyOf } from '../delivery/rule-states.ts'
import { Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import { requireCapableClient, requireCapablePeer } from '../fields/requirements.ts'
import type { Services } from '../services.ts'
import type { keys } from '../settings.ts'
import { portReservationSlot, portSharingSlot } from '../slots.ts'
import { nameHolder } from './name-holder.ts'
import type { Draft } from './parse-draft.ts'
import { admitRule } from './placement.ts'

export const portInUse = defineCode('port_in_use', 409, 5)

type NewRule = Draft &
  Pick<Rule, 'id' | 'clientId' | 'owner' | 'placedBy' | 'isExempt' | 'fields' | 'paused'> &
  Partial<Pick<Rule, 'parent'>>

export const newRule = (given: NewRule, now: number): Rule => ({
  ...given,
  parent: given.parent ?? null,
  name: null, // saved with the fields
  description: null,
  formerTargets: null,
  formerPorts: null,
  before: null,
  movedFrom: null,
  movedTo: null,
  existing: null,
  state: 'pending',
  stateReason: null,
  createdAt: now,
  updatedAt: now,
  stateChangedAt: now,
  activatedAt: null
})

/** Reasons of refusals, by rule id. */
type Faults = ReadonlyMap<string, Fault>

interface InsertCall extends ChangeBy {
  readonly ifOffline: 'refuse' | 'queue'
}

/**
 * Stores rules with one definition, each on another client: one rule, or the members of a group rule. Does not store a
 * refused rule, and returns its first fault. Sends the stored rules after the commit.
 */
export async function insertRules(
  services: Services,
  given: readonly Rule[],
  values: Values,
  { ifOffline, ...by }: InsertCall
): Promise<Faults> {
  const { config, filled, fields, clients, parts } = services
  const { em } = by
  const faults = new Map<string, Fault>()
  const admitted = await keepPassing(given, faults, rule => admitRule(rule, filled, by))
  const pending = await clients.pendingFaults(
    admitted.map(({ clientId }) => clientId),
    em
  )
  const approved = await keepPassing(admitted, faults, async ({ clientId }) => {
    const fault = pending.get(clientId)
    if (fault) throw fault
  })
  const derived = await fields.withDerived(approved, em)
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
  const within = free.filter(({ id }) => !faults.has(id))
  const sent = await keepPassing(within, faults, async rule => {
    await parts.sync([rule], ifOffline === 'queue' ? 'capable' : 'connected', em)
  })
  const refused = within.filter(({ id }) => faults.has(id))
  await parts.drop(refused, 'all', 'cut', em)
  if (faults.size > 0) await em.nativeDelete(Rule, { id: { $in: [...faults.keys()] } })
  await parts.send(sent, em)
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

/** Stores a new row. `isExempt` is computed and has no column. */
export async function insertRule({ isExempt: _, ...row }: Rule, em: EntityManager): Promise<void> {
  await em.insert(Rule, row)
}

/** A draining rule does not reserve its port. */
const reservesPort = { state: { $ne: 'draining' } } as const

/**
 * Returns a fault for each rule if another rule on its client has the port. All given rules have the same ports, on different
 * clients. The store has one writer, so a free port stays free until the commit. Removes rules that no longer reserve the
 * port, such as expired ones, from their agents, which may still have it open.
 */
export async function takenPorts(
  rules: readonly Rule[],
  { filled, control }: Pick<Kernel, 'filled' | 'control'>,
  em: EntityManager
): Promise<Faults> {
  const faults = await reservedPorts(rules, filled, em)
  const overlapping = await loadOverlapping(rules, em)
  const contested = rules.filter(({ id, clientId }) => overlapping.has(clientId) && !faults.has(id))
  if (contested.length === 0) return faults
  const shown = await shownStates(filled, [...contested, ...[...overlapping.values()].flat()], em)
  const isFree = ({ id }: Rule): boolean => shown.get(id)?.port === 'free'
  for (const rule of contested.filter(rule => !isFree(rule))) {
    const others = overlapping.get(rule.clientId) ?? []
    const holders = others.filter(other => !isFree(other))
    const [holder] = holders
    const fault = holder ? await refusalToJoin(rule, [holder, ...holders.slice(1)], filled, em) : null
    if (fault) faults.set(rule.id, fault)
    else
      for (const other of others.filter(isFree)) await control.objects.drop(em, objectKeyOf(other), 'drain')
  }
  return faults
}

/** Returns a fault for each rule with a port on which the agent itself listens. */
async function reservedPorts(
  rules: readonly Rule[],
  filled: SlotReader,
  em: EntityManager
): Promise<Map<string, Fault>> {
  const faults = new Map<string, Fault>()
  const clientIds = [...new Set(rules.map(({ clientId }) => clientId))]
  for (const { value: reservation } of filled(portReservationSlot)) {
    const reserved = clientIds.length === 0 ? new Map() : await reservation.load(clientIds, em)
    for (const { id, clientId, protocol, listenFrom, listenTo } of rules) {
      const ports: readonly number[] = reserved.get(clientId) ?? []
      const port = ports.find(port => port >= listenFrom && port <= listenTo)
      if (port === undefined) continue
      const message = `the agent of this client itself needs ${protocol} port ${port}`
      faults.set(id, new Fault(portInUse, message, { details: { port } }))
    }
  }
  return faults
}

/** Returns the rules that overlap the ports of the given rules, by client. */
async function loadOverlapping(rules: readonly Rule[], em: EntityManager): Promise<Map<string, Rule[]>> {
  const [first] = rules
  if (!first) return new Map()
  const own = rules.map(({ id }) => id)
  const ids = await idsOnPorts(
    first,
    rules.map(({ clientId }) => clientId),
    em
  )
  const others = ids.filter(id => !own.includes(id))
  const found = others.length === 0 ? [] : await em.find(Rule, { ...reservesPort, id: { $in: others } })
  return Map.groupBy(found, ({ clientId }) => clientId)
}

/**
 * Returns the ids of rules on one of the ports. Each select uses an index, since a client may have thousands of rules: rules
 * that begin on one of the ports, ranges that begin before, and ports that a pending move leaves.
 */
async function idsOnPorts(
  { protocol, listenFrom: from, listenTo: to }: Rule,
  clients: readonly string[],
  em: EntityManager
): Promise<string[]> {
  const source = `from rules where client_id in (${clients.map(() => '?')}) and protocol = ?`
  const values = [...clients, protocol]
  const rows = await em.execute<{ id: string }[]>(
    `select id ${source} and listen_from between ? and ?
     union select id ${source} and listen_to > listen_from and listen_to >= ? and listen_from < ?
     union select id ${source} and moved_from is not null and moved_to >= ? and moved_from <= ?`,
    [...values, from, to, ...values, from, from, ...values, from, to]
  )
  return rows.map(({ id }) => id)
}

/** Returns why the rule cannot share the port with its holders, or null. */
async function refusalToJoin(
  rule: Rule,
  holders: readonly [Rule, ...Rule[]],
  filled: SlotReader,
  em: EntityManager
): Promise<Fault | null> {
  try {
    for (const { value: sharing } of filled(portSharingSlot))
      if (await sharing.mayJoin(rule, holders, em)) return null
    return portTaken(rule, holders[0])
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

function portTaken(rule: Rule, holder: Rule): Fault {
  const { protocol, listenFrom } = rule
  const { name, details } = nameHolder(rule, holder)
  const port = Math.max(listenFrom, isMovedFrom(holder, rule) ? (holder.movedFrom ?? 0) : holder.listenFrom)
  return new Fault(portInUse, `${name} has ${protocol} port ${port} of this client`, { details })
}

/** True if the rule overlaps only ports that the holder leaves, but that its agent may still have. */
const isMovedFrom = (holder: Rule, { listenFrom, listenTo }: Rule): boolean =>
  holder.listenFrom > listenTo || holder.listenTo < listenFrom

/** Returns a fault for each stored rule that exceeds a limit on its client. All rules have one owner. */
async function overLimits(
  rules: readonly Rule[],
  limits: Static<typeof keys>,
  em: EntityManager
): Promise<Faults> {
  const faults = new Map<string, Fault>()
  const [first] = rules
  if (!first) return faults
  const { owner } = first
  const clientId = { $in: rules.map(rule => rule.clientId) }
  const checks = [
    { subject: 'the client', limit: limits.max_rules_per_client, where: {} },
    { subject: `${owner} on the client`, limit: limits.max_rules_per_owner_per_client, where: { owner } }
  ]
  for (const { subject, limit, where } of checks) {
    const counts = await em.countBy(Rule, 'clientId', { where: { ...reservesPort, clientId, ...where } })
    const message = `${subject} has ${limit} rules already; remove one first`
    for (const rule of rules)
      if ((counts[rule.clientId] ?? 0) > limit && !faults.has(rule.id))
        faults.set(rule.id, new Fault(limitReached, message, { details: { limit } }))
  }
  return faults
}
