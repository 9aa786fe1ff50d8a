// Applies a judged edit to one rule on one client, in the transaction of the change.
import { Fault } from '../../../kernel/base/errors.ts'
import { isCapable } from '../../../kernel/control/peers.ts'
import type { FieldChange } from '../../../kernel/http/route.ts'
import { listChanges } from '../../http/exports.ts'
import type { Values } from '../api/rule-record.ts'
import { shownStates } from '../api/shown-states.ts'
import { type AfterCommit, belongsOnAgent, isInForce, stateInForce } from '../delivery/rule-states.ts'
import type { Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import { lastKnownAgent, requireCapableClient, requireCapablePeer } from '../fields/requirements.ts'
import { fieldUnsupported } from '../fields/rule-field.ts'
import { withoutPaths } from '../fields/target-values.ts'
import type { Services } from '../services.ts'
import { updateCapability } from '../wire.ts'
import { collectAnswers, type SentRule } from './client-answers.ts'
import type { EditCall, StoredRule, WantedRule } from './edit.ts'
import { admitRule } from './placement.ts'
import { withPendingChange, withServerChange, writeRule } from './write-rule.ts'

export interface AppliedChange {
  readonly changes: readonly FieldChange[]
  readonly awaited: readonly SentRule[] // the reply waits for their clients, if those are connected
  readonly woken: readonly string[] // ids of clients with other changes
  readonly row?: Rule // the caller must check that its ports are free
  readonly afterCommit: AfterCommit
}

const nothing = (): void => {}

/** Writes the rule and queues it for its agent. Does not check that the ports are free. */
export async function applyChange(
  services: Services,
  stored: StoredRule,
  { values, ...core }: WantedRule,
  { mode, existing, patch, ...by }: EditCall
): Promise<AppliedChange> {
  const { control, filled, fields, parts, states } = services
  const { rule } = stored
  if (patch?.['paused'] === false) await requireResumable(services, { ...rule, ...core }, by)
  const isRunning = isInForce(rule) || rule.state === 'pending'
  const isRetried = rule.state === 'failed' && mode !== 'hot'
  const waiting = async (
    rule: Rule,
    isAwaited: boolean
  ): Promise<Pick<AppliedChange, 'awaited' | 'woken'>> =>
    isAwaited
      ? { awaited: await collectAnswers(services, [rule], 'push', by.em), woken: [rule.clientId] }
      : { awaited: [], woken: [rule.clientId] }
  const changes = listRuleChanges(stored, { values, ...core })
  if (changes.length === 0 && !(isRetried && mode === 'replace'))
    return { changes, ...(await waiting(rule, isRunning && rule.before != null)), afterCommit: nothing }

  const sent = changes.filter(({ field }) => fields.isSent(field))
  const isHot = changes.every(({ field }) => fields.isHot(field))
  const isDefinition = !changes.every(({ field }) => fields.isHot(field) || field === 'paused')
  const given = { ...rule, ...core, fields: fields.keysWith(rule, values) }
  if (isDefinition) await admitRule(given, filled, by)
  const [next = given] = isDefinition ? await fields.withDerived([given], by.em) : [given]
  await requireSupport(services, { rule, next, changes, mode: isHot ? 'hot' : mode }, by)
  await fields.check(next, addedValues(changes, services), by)

  const written = { from: stored.values, to: values }
  if (changes.length > 0 && sent.length === 0 && !(isRetried && mode === 'replace')) {
    await writeRule(services, withServerChange(services, rule, changes, { patch, ...by }), written, by)
    const changed = await parts.sync([next], 'capable', by.em)
    if (changed.has(rule.id) && belongsOnAgent(rule)) await parts.send([rule], by.em)
    return { changes, ...(await waiting(rule, false)), afterCommit: nothing }
  }

  const replaced = changes.filter(({ field }) => fields.has(field))
  const isOffline = control.peers.find(rule.clientId) === undefined
  const isMoved = changes.some(({ field }) => field.startsWith('listen_port'))
  const row = withPendingChange({
    rule,
    next,
    values: Object.fromEntries(replaced.map(({ field, from }) => [field, from])),
    existing,
    isUndone:
      isInForce(rule) || rule.before != null || (!isOffline && (isRetried || rule.state === 'pending')),
    whenPortInUse: !isMoved && isOffline ? 'keep' : 'undo'
  })
  await writeRule(services, row, written, by)

  const isNew = isRetried && !belongsOnAgent(rule) // for its agent
  const state = isNew ? 'pending' : isOffline && isInForce(rule) ? stateInForce(row) : rule.state
  const afterCommit = state === rule.state ? nothing : await states.enter(row, { state }, by.em)
  if (!isNew && !belongsOnAgent(rule)) return { changes, ...(await waiting(rule, false)), row, afterCommit }
  await parts.sync([{ ...row, state }], 'capable', by.em)
  await parts.send([rule], by.em)
  const isAwaited = isRunning || isRetried || rule.before != null
  return { changes, ...(await waiting(rule, isAwaited)), row, afterCommit }
}

/** Throws for a rule that a plugin has paused, for example for want of a grant, and that its owner could not place now. */
async function requireResumable({ filled }: Services, rule: Rule, by: ChangeBy): Promise<void> {
  const shown = await shownStates(filled, [rule], by.em)
  if (shown.get(rule.id)?.state === 'paused') await admitRule(rule, filled, by)
}

/** Returns the properties that differ, under their names in requests. */
export function listRuleChanges({ rule, values }: StoredRule, wanted: WantedRule): FieldChange[] {
  return listChanges({ ...coreOf(rule), ...values }, { ...coreOf(wanted), ...wanted.values })
}

const coreOf = (rule: Rule | WantedRule) => ({
  listen_port: rule.listenFrom,
  listen_port_end: rule.listenTo > rule.listenFrom ? rule.listenTo : null,
  targets: withoutPaths(rule.targets), // a change of a path is one of its field
  prefer_ipv6: rule.preferIpv6,
  placed_by: rule.placedBy,
  paused: rule.paused
})

/** Returns the new values of fields, without those that are cleared. */
export const addedValues = (changes: readonly FieldChange[], { fields }: Services): Values =>
  Object.fromEntries(
    changes.flatMap(({ field, to }) => (fields.has(field) && to !== null ? [[field, to]] : []))
  )

interface Support extends Pick<EditCall, 'mode'> {
  readonly rule: Rule
  readonly next: Rule
  readonly changes: readonly FieldChange[]
}

/** Throws if the client cannot take the result. For an offline client, the capabilities of its last connection count. */
async function requireSupport(
  services: Services,
  { rule, next, changes, mode }: Support,
  { em }: Pick<EditCall, 'em'>
) {
  const { fields } = services
  if (mode === 'replace') return requireCapablePeer(services, next)
  const added = fields.sentKeys(addedValues(changes, services))
  if (mode === 'live') await requireCapableClient(services, next, em)
  else if (added.length > 0) await requireCapableClient(services, { ...next, fields: added }, em)
  const client = await lastKnownAgent(services, rule.clientId, em)
  if (mode === 'hot' || !belongsOnAgent(rule) || !client || isCapable(client, updateCapability)) return
  const { id, since } = updateCapability
  const field = changes[0]?.field ?? ''
  const message = `client ${rule.clientId} runs ${client.agentVersion}, without ${id} ${since}; update its agent, or remove the rule and create another`
  throw new Fault(fieldUnsupported, message, { details: { field } })
}
