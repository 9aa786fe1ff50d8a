// The transaction of a change: what differs is judged and stored, and the agent is to have it.
import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../../../kernel/base/errors.ts'
import { isCapable } from '../../../kernel/control/peers.ts'
import type { FieldChange } from '../../../kernel/http/route.ts'
import type { Values } from '../api/rule-record.ts'
import {
  type AfterCommit,
  belongsOnAgent,
  isInForce,
  objectKeyOf,
  stateInForce
} from '../delivery/rule-states.ts'
import type { Existing, Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import { clientOf, requireCapableOnceBack, requireCapablePeer } from '../fields/requirements.ts'
import { fieldUnsupported } from '../fields/rule-field.ts'
import type { Services } from '../services.ts'
import { updateCapability } from '../wire.ts'
import type { Draft } from './new-rule.ts'
import { withBefore } from './pending-change.ts'
import { admit } from './placement.ts'
import { write } from './write-rule.ts'

/** A rule, and the value or null of every loaded field. */
export interface Stored {
  readonly rule: Rule
  readonly values: Values
}

/** What a change wants a rule to be. */
export interface Wanted extends Draft, Pick<Rule, 'placedBy' | 'placedBySuperadmin' | 'paused'> {
  readonly values: Values // of every loaded field; null: none
}

/**
 * 'update': hot fields alone; a failed rule takes them without being tried again. 'replace': needs a connected client,
 * and takes any agent, which may close the port for a moment. 'patch': needs an agent that changes open rules.
 */
export type ChangeKind = 'update' | 'replace' | 'patch'

export interface How extends ChangeBy {
  readonly kind: ChangeKind
  readonly existing: Existing
}

export interface Changed {
  readonly changes: readonly FieldChange[]
  readonly awaited: readonly Rule[] // the reply must wait for their agents, where they are connected
  readonly woken: readonly string[] // clients that have other changes
  readonly row?: Rule // its port is still to be judged
  readonly afterCommit: AfterCommit
}

const nothing = (): void => {}

/** Does not judge whether the ports are free. */
export async function changeRule(
  services: Services,
  stored: Stored,
  { values, ...core }: Wanted,
  { kind, existing, ...by }: How
): Promise<Changed> {
  const { control, filled, fields, states } = services
  const { rule } = stored
  const isRunning = isInForce(rule) || rule.state === 'pending'
  const isTried = rule.state === 'failed' && kind !== 'update'
  const changes = changesOf(stored, { values, ...core })
  if (changes.length === 0 && !(isTried && kind === 'replace'))
    return { changes, ...waiting(rule, isRunning && rule.before != null), afterCommit: nothing }

  const sent = changes.filter(({ field }) => fields.isSent(field))
  const isHot = changes.every(({ field }) => fields.isHot(field))
  const isDefinition = !changes.every(({ field }) => fields.isHot(field) || field === 'paused')
  const given = { ...rule, ...core, fields: fields.keysWith(rule, values) }
  if (isDefinition) await admit(given, filled, by.em)
  const [next = given] = isDefinition ? await fields.withDerived([given], by.em) : [given]
  await requireSupport(services, { rule, next, changes, kind: isHot ? 'update' : kind }, by)
  await fields.check(next, addedBy(changes, services), by)

  if (changes.length > 0 && sent.length === 0) {
    await write(services, rule, { from: stored.values, to: values }, by)
    return { changes, ...waiting(rule, false), afterCommit: nothing }
  }

  const replaced = sent.filter(({ field }) => fields.has(field))
  const isAway = control.peers.find(rule.clientId) === undefined
  const isMoved = changes.some(({ field }) => field.startsWith('listen_port'))
  const row = withBefore({
    rule,
    next,
    values: Object.fromEntries(replaced.map(({ field, from }) => [field, from])),
    existing,
    whenPortInUse: !isMoved && (isHot || isAway) ? 'keep' : 'undo'
  })
  await write(services, row, { from: stored.values, to: values }, by)

  const isNew = isTried && !belongsOnAgent(rule) // for its agent
  const state = isNew ? 'pending' : isAway && isInForce(rule) ? stateInForce(row) : rule.state
  const afterCommit = state === rule.state ? nothing : await states.enter(row, { state }, by.em)
  if (!isNew && !belongsOnAgent(rule)) return { changes, ...waiting(rule, false), row, afterCommit }
  await control.objects.put(by.em, objectKeyOf(rule))
  return { changes, ...waiting(rule, isRunning || isTried), row, afterCommit }
}

const waiting = (rule: Rule, isAwaited: boolean): Pick<Changed, 'awaited' | 'woken'> =>
  isAwaited ? { awaited: [rule], woken: [] } : { awaited: [], woken: [rule.clientId] }

/** Returns what differs, by the names that requests have. */
export function changesOf({ rule, values }: Stored, wanted: Wanted): FieldChange[] {
  const coreOf = (of: Rule | Wanted) => ({
    listen_port: of.listenFrom,
    listen_port_end: of.listenTo > of.listenFrom ? of.listenTo : null,
    targets: of.targets,
    prefer_ipv6: of.preferIpv6,
    placed_by: of.placedBy,
    paused: of.paused
  })
  const before: Values = { ...coreOf(rule), ...values }
  return Object.entries({ ...coreOf(wanted), ...wanted.values })
    .map(([field, to]) => ({ field, from: before[field] ?? null, to }))
    .filter(({ from, to }) => !isDeepStrictEqual(from, to))
}

export const addedBy = (changes: readonly FieldChange[], { fields }: Services): Values =>
  Object.fromEntries(
    changes.flatMap(({ field, to }) => (fields.has(field) && to !== null ? [[field, to]] : []))
  )

interface Support {
  readonly rule: Rule
  readonly next: Rule
  readonly changes: readonly FieldChange[]
  readonly kind: ChangeKind
}

/** Throws if the client cannot take the result. Of one that is not connected, the last connection counts. */
async function requireSupport(services: Services, { rule, next, changes, kind }: Support, { em }: ChangeBy) {
  const { fields } = services
  if (kind === 'replace') return requireCapablePeer(services, next)
  const added = fields.sentKeys(addedBy(changes, services))
  if (kind === 'patch') await requireCapableOnceBack(services, next, em)
  else if (added.length > 0) await requireCapableOnceBack(services, { ...next, fields: added }, em)
  const client = await clientOf(services, rule.clientId, em)
  if (kind === 'update' || !belongsOnAgent(rule) || !client || isCapable(client, updateCapability)) return
  const { id, since } = updateCapability
  const field = changes[0]?.field ?? ''
  const message = `client ${rule.clientId} runs ${client.agentVersion}, without ${id} ${since}; update its agent, or remove the rule and create another`
  throw new Fault(fieldUnsupported, message, { details: { field } })
}
