// Which rules have a port of a client, for those who may see them.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Client } from '../../../kernel/identity/entities.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { clientsOf, findClient, requireClient } from '../changes/placement.ts'
import { type Protocol, RefusedMember, Rule } from '../entities.ts'
import { clientNotGranted } from '../slots.ts'
import { queries } from './queries.ts'
import type { RuleReader } from './rule-reader.ts'
import type { RuleRecord } from './rule-record.ts'

export interface PortOfClient {
  readonly clientId: string
  readonly protocol: Protocol
  readonly port: number
}

/** A rule on a client. */
export interface ListeningRule {
  readonly rule: RuleRecord
  readonly id: string // of a rule on several clients that of its part; '': the client could not take its part
  readonly placedBySuperadmin: boolean
}

interface Options {
  readonly filled: SlotReader
  readonly reader: Pick<RuleReader, 'recordOf'>
}

export function openPortLookup({ filled, reader }: Options) {
  /** Returns the rules on this port that the caller may see, and that are not being removed. */
  async function findOnPort(
    { clientId, protocol, port }: PortOfClient,
    { role, userId }: Principal,
    em: EntityManager
  ): Promise<ListeningRule[]> {
    const seen = {
      ...{
        protocol,
        listenFrom: { $lte: port },
        listenTo: { $gte: port },
        state: { $ne: 'draining' as const }
      },
      ...(role !== 'superadmin' && { owner: userId })
    }
    const rules = await em.find(Rule, { ...seen, clientId }, { orderBy: { id: 'asc' } })
    const wholes = await em.find(Rule, { ...seen, id: { $in: rules.flatMap(({ parent }) => parent ?? []) } })
    const found = rules.map(rule => ({ on: rule, of: wholes.find(({ id }) => id === rule.parent) ?? rule }))
    const refused = await em.find(RefusedMember, { clientId }, { fields: ['parent'] })
    const without = await em.find(Rule, { ...seen, id: { $in: refused.map(({ parent }) => parent) } })
    const all = [...found, ...without.map(whole => ({ on: { ...whole, id: '' }, of: whole }))]
    const listening: ListeningRule[] = []
    for (const { on, of } of all) {
      const { id, placedBySuperadmin } = on
      listening.push({ id, placedBySuperadmin, rule: await reader.recordOf(of, em) })
    }
    return listening
  }

  /**
   * Finds a client by id or name. Throws `client_not_found`; for a user who may not see it `client_not_granted`, existing or
   * not; `client_name_ambiguous` where several have the name.
   */
  async function findVisibleClient(
    client: string,
    { role, userId }: Principal,
    em: EntityManager
  ): Promise<Client> {
    if (role === 'superadmin') return requireClient(client, em)
    const granted = (await clientsOf(userId, filled, em)) ?? new Set()
    const own = new Set(await queries.clientsOfOwner(userId, em))
    const found = await findClient(client, em, granted.union(own))
    if (!found) throw new Fault(clientNotGranted, `you have neither grants nor rules on a client ${client}`)
    return found
  }

  return { findOnPort, findVisibleClient }
}
