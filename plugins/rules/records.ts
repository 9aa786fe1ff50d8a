// Rules as JSON records.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Rule, Target } from './entities.ts'
import type { Fields } from './fields.ts'
import type { RuleRecord } from './record.ts'
import { targetViewSlot } from './slots.ts'

export type Records = ReturnType<typeof openRecords>

export const openRecords =
  (filled: SlotReader, fields: Fields) =>
  async (rules: readonly Rule[], em: EntityManager): Promise<RuleRecord[]> => {
    const clientIds = [...new Set(rules.map(({ clientId }) => clientId))]
    const clients = await em.find(Client, { id: { $in: clientIds } }, { fields: ['name'] })
    const names = new Map(clients.map(({ id, name }) => [id, name]))
    const values = await fields.load(rules, em)
    const views = viewsOf(rules, filled)
    return rules.map(rule => ({
      ...coreRecordOf(rule, names.get(rule.clientId) ?? ''),
      targets: rule.targets.map((target, index) => ({
        ...target,
        port_end: portEnd(rule, target),
        ...views(rule, index)
      })),
      ...fields.shown(values.get(rule.id) ?? {})
    }))
  }

/** Returns a function that gives the properties of a rule's target, by its index, that other plugins add. */
function viewsOf(rules: readonly Rule[], filled: SlotReader) {
  const views = filled(targetViewSlot).map(({ value }) => [value.key, value.load(rules)] as const)
  return ({ id }: Rule, index: number) =>
    Object.fromEntries(views.map(([key, values]) => [key, values.get(id)?.[index]]))
}

const portEnd = ({ listenFrom, listenTo }: Rule, { port }: Target): number | null =>
  listenTo > listenFrom ? port + listenTo - listenFrom : null

const coreRecordOf = (rule: Rule, clientName: string) => ({
  rule_id: rule.id,
  client_id: rule.clientId,
  client_name: clientName,
  listen_port: rule.listenFrom,
  listen_port_end: rule.listenTo > rule.listenFrom ? rule.listenTo : null,
  protocol: rule.protocol,
  prefer_ipv6: rule.preferIpv6,
  owner: rule.owner,
  state: rule.state,
  state_reason: rule.stateReason ?? null,
  created_at: timestamp(rule.createdAt),
  updated_at: timestamp(rule.updatedAt),
  state_changed_at: timestamp(rule.stateChangedAt)
})
