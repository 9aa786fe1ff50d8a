// Finds the rules on a port of a client, for callers who may see them.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Client } from '../../../kernel/identity/entities.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { seesAll } from '../../http/exports.ts'
import { allowedClients, findClient, requireClient } from '../changes/placement.ts'
import { type Protocol, RefusedMember, Rule } from '../entities.ts'
import { clientNotGranted } from '../slots.ts'
import { queries } from './queries.ts'
import type { RuleReader } from './rule-reader.ts'
import type { RuleRecord } from './rule-record.ts'

interface PortOfClient {
  readonly clientId: string
  readonly protocol: Protocol
  readonly port: number
}

/** A rule on a port of a client. */
interface ListeningRule {
  readonly rule: RuleRecord
  readonly id: string // of the rule on the client; '' if the client refused its member of a group rule
  readonly isExempt: boolean
}

interface Options {
  readonly filled: SlotReader
  readonly reader: Pick<RuleReader, 'loadRecord'>
}

export interface PortLookup {
  /** Returns the rules on this port that the user may see, without those that are being removed. */
  findOnPort(port: PortOfClient, principal: Principal, em: EntityManager): Promise<ListeningRule[]>
  /**
   * Finds a client by id or name. Throws `client_not_found` (callers who see all), `client_not_granted` (others who may not
   * see it, whether it exists or not), or `client_name_ambiguous`.
   */
  findVisibleClient(client: string, principal: Principal, em: EntityManager): Promise<Client>
}

export function openPortLookup({ filled, reader }: Options): PortLookup {
  async function findOnPort(
    { clientId, protocol, port }: PortOfClient,
    caller: Principal,
    em: EntityManager
  ): Promise<ListeningRule[]> {
    const visible = {
      protocol,
      listenFrom: { $lte: port },
      listenTo: { $gte: port },
      state: { $ne: 'draining' as const },
      ...(!seesAll(caller) && { owner: caller.userId })
    }
    const rules = await em.find(Rule, { ...visible, clientId }, { orderBy: { id: 'asc' } })
    const groupRules = await em.find(Rule, {
      ...visible,
      id: { $in: rules.flatMap(({ parent }) => parent ?? []) }
    })
    const found = rules.map(rule => ({
      on: rule,
      of: groupRules.find(({ id }) => id === rule.parent) ?? rule
    }))
    const refused = await em.find(RefusedMember, { clientId }, { fields: ['parent'] })
    const refusing = await em.find(Rule, { ...visible, id: { $in: refused.map(({ parent }) => parent) } })
    const all = [...found, ...refusing.map(rule => ({ on: { ...rule, id: '' }, of: rule }))]
    const listening: ListeningRule[] = []
    for (const { on, of } of all) {
      const { id, isExempt } = on
      listening.push({ id, isExempt, rule: await reader.loadRecord(of, em) })
    }
    return listening
  }

  async function findVisibleClient(client: string, caller: Principal, em: EntityManager): Promise<Client> {
    const { userId } = caller
    if (seesAll(caller)) return requireClient(client, em)
    const granted = (await allowedClients(userId, filled, em)) ?? new Set()
    const visible =
      granted === 'all' ? granted : granted.union(new Set(await queries.clientsOfOwner(userId, em)))
    const found = await findClient(client, em, visible)
    if (!found) throw new Fault(clientNotGranted, `you have neither grants nor rules on a client ${client}`)
    return found
  }

  return { findOnPort, findVisibleClient }
}
