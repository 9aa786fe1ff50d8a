// Checks stored rules against plugins and agents: at start, when a client connects, and when derived fields change.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { attributionOf } from '../../../kernel/base/attribution.ts'
import type { Fault } from '../../../kernel/base/errors.ts'
import type { Peer } from '../../../kernel/control/peers.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { onClients, Rule } from '../entities.ts'
import { missingPart, unsupported } from '../fields/requirements.ts'
import type { Services } from '../services.ts'
import { type AfterCommit, belongsOnAgent, lacksPart, objectKeyOf, runAll } from './rule-states.ts'

export interface Reconciliation {
  /** Checks all stored rules. */
  start(): Promise<void>
  /** Fails the rules that a connected client does not support. */
  joined(peer: Pick<Peer, 'clientId'>): void
  /** Derives the fields of matching rules again, in the transaction that changed their source. */
  refresh(where: FilterQuery<Rule>, em: EntityManager): Promise<AfterCommit>
}

export function openReconciliation(services: Services): Reconciliation {
  const { store, fields, log, states } = services

  async function listUnsupported(clientId: string, em: EntityManager) {
    const rules = await em.find(Rule, { clientId, state: { $in: ['pending', 'active', 'paused'] } })
    return rules.flatMap(rule => {
      const refusal = sendRefusal(services, rule)
      return refusal ? [{ rule, refusal }] : []
    })
  }

  /** An older agent may have replaced the one that took the rules. */
  async function failUnsupported(clientId: string, em: EntityManager): Promise<AfterCommit[]> {
    const after: AfterCommit[] = []
    for (const { rule, refusal } of await listUnsupported(clientId, em)) {
      const { code } = refusal.errorCode
      const fields = { rule: rule.id, rule_name: rule.name ?? undefined, client: clientId, code }
      after.push(
        () => log.warn('rule.unsupported', refusal.message, fields),
        // The managed object stays, even if the rule was never active: it is sent when the client has the capability.
        await states.enter(rule, { state: 'failed', code }, em)
      )
    }
    return after
  }

  /** Reads first: a fleet that reconnects usually has nothing to change, and must not queue for the store. */
  async function checkJoined(clientId: string): Promise<void> {
    const found = await store.read(em => listUnsupported(clientId, em))
    if (found.length > 0) runAll(await store.change(em => failUnsupported(clientId, em)))
  }

  async function refresh(where: FilterQuery<Rule>, em: EntityManager): Promise<AfterCommit> {
    const before = await em.find(Rule, { $and: [where, { ...onClients, state: { $ne: 'draining' } }] })
    const after = await fields.withDerived(before, em)
    const changed = await services.parts.sync(after, 'stored', em)
    const hasDerived = (rule: Rule | undefined): boolean => rule !== undefined && fields.hasDerived(rule)
    const touched = after.filter(
      (rule, at) => changed.has(rule.id) || hasDerived(rule) || hasDerived(before[at])
    )
    await saveKeys(before, after, em)
    await services.parts.send(touched.filter(belongsOnAgent), em)
    return () => wakeCapable(services, touched)
  }

  return {
    start: (): Promise<void> => reconcileAll(services),
    joined: ({ clientId }: Peer): void =>
      void checkJoined(clientId).catch(error => logFailedCheck(services, error, clientId)),
    refresh
  }
}

/** Saves the field keys of rules with other keys than the stored ones, and returns these rules. */
async function saveKeys(stored: readonly Rule[], rules: readonly Rule[], em: EntityManager): Promise<Rule[]> {
  const hasSameKeys = ({ fields }: Rule, at: number): boolean =>
    new Set(fields).symmetricDifference(new Set(stored[at]?.fields)).size === 0
  const changed = rules.filter((rule, at) => !hasSameKeys(rule, at))
  for (const { id, fields } of changed) await em.nativeUpdate(Rule, { id }, { fields })
  return changed
}

const rulesPerTransaction = 1000

/**
 * Adds derived fields of newly enabled plugins to the stored rules. Removes rules from their agents if no loaded plugin owns
 * one of their fields or their shape, and sends them again once the plugin is loaded. Deletes rules of clients that were
 * deleted while this plugin was disabled.
 */
async function reconcileAll(services: Services): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const from: string = last
    const page = await services.store.change(em => reconcilePage(services, from, em))
    runAll(page.afterCommit)
    last = page.last
  }
}

/** Checks the rules after the id `from`. `last` is undefined if there were none. */
async function reconcilePage(services: Services, from: string, em: EntityManager) {
  const where = { ...onClients, id: { $gt: from } }
  const page = await em.find(Rule, where, { orderBy: { id: 'asc' }, limit: rulesPerTransaction })
  const clientIds = { $in: [...new Set(page.map(({ clientId }) => clientId))] }
  const clients = new Set((await em.find(Client, { id: clientIds }, { fields: ['id'] })).map(({ id }) => id))
  const afterCommit: AfterCommit[] = []
  const orphaned = page.filter(({ clientId }) => !clients.has(clientId))
  afterCommit.push(await services.states.removeAll(orphaned, 'drain', em))
  const remaining = page.filter(({ clientId, state }) => clients.has(clientId) && state !== 'draining')
  const rules = await deriveAgain(services, remaining, em)
  const checked: Rule[] = []
  for (const rule of rules) {
    const { state, after } = await checkPlugins(services, rule, em)
    checked.push({ ...rule, state })
    if (after) afterCommit.push(after)
  }
  const changed = await services.parts.sync(checked, 'stored', em)
  await services.parts.send(
    checked.filter(({ id }) => changed.has(id)),
    em
  )
  return { afterCommit, last: page.at(-1)?.id }
}

/** Saves the keys of the current derived values, and returns the rules with them. */
async function deriveAgain(services: Services, stored: readonly Rule[], em: EntityManager): Promise<Rule[]> {
  const rules = await services.fields.withDerived(stored, em)
  const changed = await saveKeys(stored, rules, em)
  await services.parts.send(changed.filter(belongsOnAgent), em)
  return rules
}

/** Removes a rule from its agent if a plugin is missing, and sends it again if the plugin is loaded. Returns its state. */
async function checkPlugins(
  { control, filled, parts, states }: Services,
  rule: Rule,
  em: EntityManager
): Promise<{ readonly state: Rule['state']; readonly after?: AfterCommit }> {
  const missing = missingPart(filled, rule)
  if (missing && belongsOnAgent(rule)) {
    const after = await states.enter(rule, { state: 'failed', code: missing.errorCode.code }, em)
    await control.objects.drop(em, objectKeyOf(rule), 'cut')
    return { state: 'failed', after }
  }
  if (missing || !lacksPart(rule)) return { state: rule.state }
  const after = await states.enter(rule, { state: 'pending' }, em)
  await parts.send([rule], em)
  return { state: 'pending', after }
}

/** Returns why the rule is not sent: a plugin is missing, or the connected agent lacks a capability. */
export function sendRefusal({ filled, control }: Services, rule: Rule): Fault | null {
  const peer = control.peers.find(rule.clientId)
  return missingPart(filled, rule) ?? (peer ? unsupported(filled, rule, peer) : null)
}

/** Sends the rules. Disconnects clients that lack a capability: their rules are checked when they reconnect. */
function wakeCapable({ control, filled }: Services, rules: readonly Rule[]): void {
  for (const clientId of new Set(rules.map(({ clientId }) => clientId))) {
    const peer = control.peers.find(clientId)
    if (peer && rules.some(rule => rule.clientId === clientId && unsupported(filled, rule, peer)))
      peer.end('rule.unsupported')
    else control.objects.wake(clientId)
  }
}

export const logFailedCheck = ({ log }: Services, error: unknown, client: string, rule?: string): void =>
  log.error('rule.unjudged', String(error), { client, rule, ...attributionOf(error) })
