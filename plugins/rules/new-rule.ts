// A new rule: its body parsed, and the checks of its transaction.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { defineCode, Fault, limitReached } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { type Protocol, Rule } from './entities.ts'
import { objectKeyOf } from './rule-states.ts'
import type { CreateBody } from './schema.ts'
import type { keys } from './settings.ts'
import { shownStates } from './shown-states.ts'
import { portSharingSlot } from './slots.ts'
import { parseTargets } from './targets.ts'

export const portInUse = defineCode('port_in_use', 409, 5)
export const validationProtocol = defineCode('validation.protocol', 400, 3)

export type Draft = Pick<Rule, 'protocol' | 'listenFrom' | 'listenTo' | 'targets' | 'preferIpv6'>

type ParsedBody = Pick<CreateBody, 'protocol' | 'listen_port' | 'listen_port_end' | 'targets' | 'prefer_ipv6'>

export const parse = (body: ParsedBody): Draft => ({
  protocol: parseProtocol(body.protocol ?? 'tcp'),
  listenFrom: body.listen_port,
  listenTo: body.listen_port_end ?? body.listen_port,
  targets: parseTargets(body.targets),
  preferIpv6: body.prefer_ipv6 ?? false
})

function parseProtocol(given: string): Protocol {
  const protocol = given.toLowerCase()
  if (protocol === 'tcp' || protocol === 'udp') return protocol
  const details = { field: '/protocol', reason: 'enum' }
  throw new Fault(validationProtocol, '/protocol must be tcp or udp', { details })
}

type Parts = Draft &
  Pick<Rule, 'id' | 'clientId' | 'owner' | 'placedBy' | 'placedBySuperadmin' | 'fields' | 'paused'>

export const newRule = (given: Parts, now: number): Rule => ({
  ...given,
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

/** Stores a new row; what is computed from it has no column. */
export async function insertRule({ placedBySuperadmin: _, ...row }: Rule, em: EntityManager): Promise<void> {
  await em.insert(Rule, row)
}

/** A draining rule no longer reserves its port. */
const reservesPort = { state: { $ne: 'draining' } } as const

/**
 * Throws if another rule has the port. The store has one writer, so a free port stays free until the commit. Rules that
 * have given the port free leave the agent, which may still have it open for them.
 */
export async function requireFreePort(
  rule: Rule,
  { filled, control }: Pick<Kernel, 'filled' | 'control'>,
  em: EntityManager
): Promise<void> {
  const { id, clientId, protocol, listenFrom, listenTo } = rule
  const overlapping = await em.find(Rule, {
    id: { $ne: id },
    ...reservesPort,
    clientId,
    protocol,
    $or: [
      { listenFrom: { $lte: listenTo }, listenTo: { $gte: listenFrom } },
      { movedFrom: { $lte: listenTo }, movedTo: { $gte: listenFrom } }
    ]
  })
  const shown = await shownStates(filled, overlapping.length === 0 ? [] : [rule, ...overlapping], em)
  const isFree = ({ id }: Rule): boolean => shown.get(id)?.port === 'free'
  const holders = overlapping.filter(other => !isFree(other))
  const [holder] = holders
  if (isFree(rule)) return
  if (holder && !(await mayJoin(rule, holders, filled, em))) throw portTaken(rule, holder)
  for (const other of overlapping.filter(isFree)) await control.objects.drop(em, objectKeyOf(other), 'drain')
}

async function mayJoin(
  rule: Rule,
  holders: readonly Rule[],
  filled: SlotReader,
  em: EntityManager
): Promise<boolean> {
  for (const { value: sharing } of filled(portSharingSlot))
    if (await sharing.mayJoin(rule, holders, em)) return true
  return false
}

function portTaken(rule: Rule, holder: Rule): Fault {
  const { protocol, listenFrom } = rule
  const details = { rule_id: holder.id }
  const port = Math.max(listenFrom, isMovedFrom(holder, rule) ? (holder.movedFrom ?? 0) : holder.listenFrom)
  return new Fault(portInUse, `rule ${holder.id} has ${protocol} port ${port} of this client`, { details })
}

/** True if the rule overlaps only ports that the holder leaves, but its agent may have yet. */
const isMovedFrom = (holder: Rule, { listenFrom, listenTo }: Rule): boolean =>
  holder.listenFrom > listenTo || holder.listenTo < listenFrom

/** Throws if the client, or the owner on it, has as many rules as the settings allow. */
export async function requireRoom(
  { id, clientId, owner }: Rule,
  limits: Static<typeof keys>,
  em: EntityManager
): Promise<void> {
  const checks = [
    { of: 'the client', limit: limits.max_rules_per_client, where: { clientId } },
    { of: `${owner} on the client`, limit: limits.max_rules_per_owner_per_client, where: { clientId, owner } }
  ]
  for (const { of, limit, where } of checks)
    if ((await em.count(Rule, { ...reservesPort, ...where, id: { $ne: id } })) >= limit)
      throw new Fault(limitReached, `${of} has ${limit} rules already; remove one first`, {
        details: { limit }
      })
}
