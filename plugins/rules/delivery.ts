// What the agents are told of rules, and what their answers make of a rule.
import type { EntityManager } from '@mikro-orm/sql'
import type { Fault } from '../../kernel/base/errors.ts'
import { defineKind, type HeldRow, type Settlement } from '../../kernel/control/held.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Rule, type State } from './entities.ts'
import { type Fields, fieldNotLoaded, shapeNotLoaded } from './fields.ts'
import type { Waiting } from './waiting.ts'
import { RulePush, RuleRemove, ruleKind } from './wire.ts'

type Services = Pick<Kernel, 'store' | 'control' | 'clock' | 'log'>

export const heldOf = ({ clientId, id }: Pick<Rule, 'clientId' | 'id'>) => ({ clientId, kind: ruleKind, id })

/** A part of it has no owner now: it comes back when the owner does. */
const isOrphan = ({ state, stateReason }: Rule): boolean =>
  state === 'failed' && [fieldNotLoaded.code, shapeNotLoaded.code].includes(stateReason ?? '')

/** Shall it be on the agent? One that failed at create is not tried again. */
export const isHeld = (rule: Rule): boolean =>
  rule.state !== 'failed' || (rule.activatedAt != null && !isOrphan(rule))

export function openDelivery({ store, control, clock, log }: Services, fields: Fields, waiting: Waiting) {
  async function enter(rule: Rule, state: State, reason: string | null, em: EntityManager): Promise<void> {
    if (rule.state === state && (rule.stateReason ?? null) === reason) return
    const now = clock.now()
    const activatedAt = rule.activatedAt ?? (state === 'active' ? now : null)
    const entered = { state, stateReason: reason, stateChangedAt: now, updatedAt: now, activatedAt }
    await em.nativeUpdate(Rule, { id: rule.id }, entered)
    const code = reason === null ? {} : { code: reason }
    log.info(`rule.${state}`, `the rule is ${state}`, { rule: rule.id, client: rule.clientId, ...code })
  }

  async function fail(rule: Rule, code: string, em: EntityManager): Promise<void> {
    await enter(rule, 'failed', code.slice(0, 64), em)
    if (rule.activatedAt == null) await control.held.forget(em, heldOf(rule))
  }

  /**
   * At start: what lost the owner of one of its parts is taken off the agents; what got it back returns.
   * A client may have been deleted while this plugin was off.
   */
  async function sortOrphans(em: EntityManager): Promise<void> {
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const rule of await em.find(Rule, {})) {
      if (!clients.has(rule.clientId)) await remove(rule, em)
      if (!clients.has(rule.clientId) || rule.state === 'draining') continue
      const lack = fields.lack(rule)
      if (lack && isHeld(rule)) {
        await enter(rule, 'failed', lack.row.code, em)
        await control.held.drop(em, heldOf(rule), 'cut')
      }
      if (!lack && isOrphan(rule)) {
        await enter(rule, 'pending', null, em)
        await control.held.put(em, heldOf(rule))
      }
    }
  }

  /** A client that cannot do what a rule needs is not asked to: it may have been made older than it was. */
  const refusalOf = (rule: Rule): Fault | null => {
    const peer = control.peers.find(rule.clientId)
    return fields.lack(rule) ?? (peer ? fields.refusal(rule, peer) : null)
  }

  function joined({ clientId }: Peer): void {
    const judged = store.change(async em => {
      for (const rule of await em.find(Rule, { clientId, state: { $in: ['pending', 'active'] } })) {
        const refusal = refusalOf(rule)
        if (!refusal) continue
        const { code } = refusal.row
        log.warn('rule.unsupported', refusal.message, { rule: rule.id, client: clientId, code })
        await fail(rule, code, em)
      }
    })
    judged.catch(error => log.error('rule.unjudged', String(error), { client: clientId }))
  }

  async function load(rows: readonly HeldRow[], em: EntityManager) {
    const rules = await em.find(Rule, { id: { $in: rows.map(({ id }) => id) } })
    const values = await fields.load(
      rules.map(({ id }) => id),
      em
    )
    const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
    const pushOf = (rule: Rule) => ({
      rule_id: rule.id,
      revision: revisions.get(rule.id) ?? 0,
      owner: rule.owner,
      protocol: rule.protocol,
      listen_from: rule.listenFrom,
      listen_to: rule.listenTo,
      targets: [...rule.targets],
      prefer_ipv6: rule.preferIpv6,
      fields: fields.encode(rule, values.get(rule.id) ?? {}),
      retry: rule.activatedAt != null
    })
    return new Map(rules.filter(rule => !refusalOf(rule)).map(rule => [rule.id, pushOf(rule)]))
  }

  async function settle({ id, removal }: HeldRow, settlement: Settlement, em: EntityManager): Promise<void> {
    // Words come in groups, several on one rule: what the map of this `em` keeps may be behind.
    const rule = await em.findOne(Rule, { id }, { disableIdentityMap: true })
    if (!rule) return
    if (rule.state === 'draining') {
      if (removal !== null && settlement.is === 'gone') await remove(rule, em)
      return
    }
    if (removal === null && settlement.is === 'taken') await enter(rule, 'active', null, em)
    if (removal === null && settlement.is === 'refused') await fail(rule, settlement.code, em)
  }

  async function remove(rule: Rule, em: EntityManager): Promise<void> {
    await em.nativeDelete(Rule, { id: rule.id })
    log.info('rule.removed', 'the rule is gone', { rule: rule.id, client: rule.clientId })
  }

  const kind = defineKind({
    kind: ruleKind,
    push: RulePush,
    remove: RuleRemove,
    load,
    removal: ({ id, revision, removal }) => ({ rule_id: id, revision, removal: removal ?? 'cut' }),
    settle,
    settled: ({ id, removal }, settlement) =>
      waiting.tell(`${removal === null ? 'push' : 'remove'} ${id}`, settlement)
  })

  return { kind, joined, sortOrphans, enter, remove }
}
