// Checks stored rules again: at start, when a client connects, and when derived fields change.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { attributionOf } from '../../../kernel/base/attribution.ts'
import type { Fault } from '../../../kernel/base/errors.ts'
import type { Peer } from '../../../kernel/control/peers.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { onClients, Rule } from '../entities.ts'
import { missingPart, unsupported } from '../fields/requirements.ts'
import type { Services } from '../services.ts'
import { type AfterCommit, belongsOnAgent, lacksPart, objectKeyOf, runAll } from './rule-states.ts'

export function openReconciliation(services: Services) {
  const { store, fields, log, states } = services

  async function unsupportedOf(clientId: string, em: EntityManager) {
    const rules = await em.find(Rule, { clientId, state: { $in: ['pending', 'active', 'paused'] } })
    return rules.flatMap(rule => {
      const refusal = refusalOf(services, rule)
      return refusal ? [{ rule, refusal }] : []
    })
  }

  /** Marks rules failed that the client does not support: its agent may have been replaced by an older version. */
  async function failUnsupported(clientId: string, em: EntityManager): Promise<AfterCommit[]> {
    const after: AfterCommit[] = []
    for (const { rule, refusal } of await unsupportedOf(clientId, em)) {
      const { code } = refusal.errorCode
      const fields = { rule: rule.id, client: clientId, code }
      after.push(
        () => log.warn('rule.unsupported', refusal.message, fields),
        // Its row stays, also if the rule never was active: it is sent when the client has the capability.
        await states.enter(rule, { state: 'failed', code }, em)
      )
    }
    return after
  }

  /** Reads first: a fleet that returns has nothing to change, and does not queue for the store. */
  async function checkJoined(clientId: string): Promise<void> {
    const found = await store.read(em => unsupportedOf(clientId, em))
    if (found.length > 0) runAll(await store.change(em => failUnsupported(clientId, em)))
  }

  /** Computes derived fields again, in the transaction that changed what they are derived from. */
  async function refresh(where: FilterQuery<Rule>, em: EntityManager): Promise<AfterCommit> {
    const before = await em.find(Rule, { $and: [where, { ...onClients, state: { $ne: 'draining' } }] })
    const after = await fields.withDerived(before, em)
    const touched = after.filter((rule, index) =>
      [rule, before[index]].some(rule => rule && fields.hasDerived(rule))
    )
    await saveDerived(services, touched, em)
    return () => wakeCapable(services, touched)
  }

  return {
    start: (): Promise<void> => reconcileAll(services),
    joined: ({ clientId }: Peer): void =>
      void checkJoined(clientId).catch(error => logUnchecked(services, error, clientId)),
    refresh
  }
}

/** Saves the field keys of the rules, and sends the rules again. */
async function saveDerived({ control }: Services, rules: readonly Rule[], em: EntityManager): Promise<void> {
  for (const rule of rules) {
    await em.nativeUpdate(Rule, { id: rule.id }, { fields: rule.fields })
    if (belongsOnAgent(rule)) await control.objects.put(em, objectKeyOf(rule))
  }
}

const rulesAtOnce = 1000 // of one transaction

/**
 * Runs at start. Derived fields of a plugin that is new here, or was disabled, reach the stored rules. Rules with a part
 * that no loaded plugin owns are taken off their agents, and sent again once the plugin is loaded. The rules of clients
 * that were deleted while this plugin was disabled are deleted.
 */
async function reconcileAll(services: Services): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const from: string = last
    const page = await services.store.change(em => reconcilePage(services, from, em))
    runAll(page.afterCommit)
    last = page.last
  }
}

/** Judges the rules that follow the id `from`. Without `last` there were none. */
async function reconcilePage(services: Services, from: string, em: EntityManager) {
  const where = { ...onClients, id: { $gt: from } }
  const page = await em.find(Rule, where, { orderBy: { id: 'asc' }, limit: rulesAtOnce })
  const clientIds = { $in: [...new Set(page.map(({ clientId }) => clientId))] }
  const clients = new Set((await em.find(Client, { id: clientIds }, { fields: ['id'] })).map(({ id }) => id))
  const afterCommit: AfterCommit[] = []
  for (const rule of page.filter(({ clientId }) => !clients.has(clientId)))
    afterCommit.push(await services.states.remove(rule, em))
  const kept = page.filter(({ clientId, state }) => clients.has(clientId) && state !== 'draining')
  for (const rule of await deriveAgain(services, kept, em))
    afterCommit.push(...(await requireParts(services, rule, em)))
  return { afterCommit, last: page.at(-1)?.id }
}

/** Returns the rules with the keys of their current derived values, which are saved. */
async function deriveAgain(services: Services, stored: readonly Rule[], em: EntityManager): Promise<Rule[]> {
  const rules = await services.fields.withDerived(stored, em)
  const hasSameKeys = ({ fields }: Rule, at: number): boolean =>
    new Set(fields).symmetricDifference(new Set(stored[at]?.fields)).size === 0
  await saveDerived(
    services,
    rules.filter((rule, at) => !hasSameKeys(rule, at)),
    em
  )
  return rules
}

/** Takes a rule off its agent that lacks a part, and sends one that lacks it no longer. */
async function requireParts(
  { control, filled, states }: Services,
  rule: Rule,
  em: EntityManager
): Promise<readonly AfterCommit[]> {
  const missing = missingPart(filled, rule)
  if (missing && belongsOnAgent(rule)) {
    const after = await states.enter(rule, { state: 'failed', code: missing.errorCode.code }, em)
    await control.objects.drop(em, objectKeyOf(rule), 'cut')
    return [after]
  }
  if (missing || !lacksPart(rule)) return []
  const after = await states.enter(rule, { state: 'pending' }, em)
  await control.objects.put(em, objectKeyOf(rule))
  return [after]
}

/** Returns why the rule is not sent: a part of it is missing, or the connected agent does not support one. */
export function refusalOf({ filled, control }: Services, rule: Rule): Fault | null {
  const peer = control.peers.find(rule.clientId)
  return missingPart(filled, rule) ?? (peer ? unsupported(filled, rule, peer) : null)
}

/** Sends the rules. Disconnects clients that lack a capability: their rules are checked when they connect again. */
function wakeCapable({ control, filled }: Services, rules: readonly Rule[]): void {
  for (const clientId of new Set(rules.map(({ clientId }) => clientId))) {
    const peer = control.peers.find(clientId)
    if (peer && rules.some(rule => rule.clientId === clientId && unsupported(filled, rule, peer)))
      peer.end('rule.unsupported')
    else control.objects.wake(clientId)
  }
}

export const logUnchecked = ({ log }: Services, error: unknown, client: string, rule?: string): void =>
  log.error('rule.unjudged', String(error), { client, rule, ...attributionOf(error) })
