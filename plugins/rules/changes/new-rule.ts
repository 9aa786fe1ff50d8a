// Parses a new rule, and checks it in the transaction that stores it.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { defineCode, Fault, limitReached } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import type { CreateBody } from '../api/schema.ts'
import { shownStates } from '../api/shown-states.ts'
import { objectKeyOf } from '../delivery/rule-states.ts'
import { type Protocol, Rule } from '../entities.ts'
import type { keys } from '../settings.ts'
import { portSharingSlot } from '../slots.ts'
import { defaultPriority } from './default-priority.ts'
import { parseTargets } from './parse-targets.ts'

export const portInUse = defineCode('port_in_use', 409, 5)
export const validationProtocol = defineCode('validation.protocol', 400, 3)

export type Draft = Pick<Rule, 'protocol' | 'listenFrom' | 'listenTo' | 'targets' | 'preferIpv6'>

type ParsedBody = Pick<
  CreateBody,
  'protocol' | 'listen_port' | 'listen_port_end' | 'targets' | 'prefer_ipv6'
> & { readonly balance?: unknown }

export const parseDraft = (body: ParsedBody): Draft => ({
  protocol: parseProtocol(body.protocol ?? 'tcp'),
  listenFrom: body.listen_port,
  listenTo: body.listen_port_end ?? body.listen_port,
  targets: parseTargets(body.targets, defaultPriority(body)),
  preferIpv6: body.prefer_ipv6 ?? false
})

function parseProtocol(given: string): Protocol {
  const protocol = given.toLowerCase()
  if (protocol === 'tcp' || protocol === 'udp') return protocol
  const details = { field: '/protocol', reason: 'enum' }
  throw new Fault(validationProtocol, '/protocol must be tcp or udp', { details })
}

type NewRule = Draft &
  Pick<Rule, 'id' | 'clientId' | 'owner' | 'placedBy' | 'placedBySuperadmin' | 'fields' | 'paused'> &
  Partial<Pick<Rule, 'parent'>>

export const newRule = (given: NewRule, now: number): Rule => ({
  ...given,
  parent: given.parent ?? null,
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

/** Stores a new row. `placedBySuperadmin` is computed and has no column. */
export async function insertRule({ placedBySuperadmin: _, ...row }: Rule, em: EntityManager): Promise<void> {
  await em.insert(Rule, row)
}

/** Reasons of refusals, by rule id. */
export type Faults = ReadonlyMap<string, Fault>

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
  const faults = new Map<string, Fault>()
  const overlapping = await loadOverlapping(rules, em)
  const contested = rules.filter(({ clientId }) => overlapping.has(clientId))
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
  const id = holder.parent ?? holder.id
  const port = Math.max(listenFrom, isMovedFrom(holder, rule) ? (holder.movedFrom ?? 0) : holder.listenFrom)
  return new Fault(portInUse, `rule ${id} has ${protocol} port ${port} of this client`, {
    details: { rule_id: id }
  })
}

/** True if the rule overlaps only ports that the holder leaves, but that its agent may still have. */
const isMovedFrom = (holder: Rule, { listenFrom, listenTo }: Rule): boolean =>
  holder.listenFrom > listenTo || holder.listenTo < listenFrom

/** Returns a fault for each stored rule that exceeds a limit on its client. All rules have one owner. */
export async function overLimits(
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
