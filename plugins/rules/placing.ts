// Decides who may place a rule: superadmins on every client and for every user, others where `rules.admit` lets them.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, notOwner, roleRequired, userNotFound } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Rule } from './entities.ts'
import { findClient, requireClient } from './find-client.ts'
import type { CreateBody } from './schema.ts'
import { admitSlot, clientNotGranted } from './slots.ts'

type RequestedPlace = Pick<CreateBody, 'client' | 'owner'>
type Place = Pick<Rule, 'clientId' | 'owner' | 'placedBySuperadmin'>

export type Placing = ReturnType<typeof openPlacing>

export function openPlacing(filled: SlotReader) {
  const admissions = () => filled(admitSlot).map(({ value }) => value)

  async function place(requested: RequestedPlace, caller: Principal, em: EntityManager): Promise<Place> {
    if (caller.role !== 'superadmin') return placeOwn(requested, caller, em)
    const { id: clientId } = await requireClient(requested.client, em)
    const owner = requested.owner ?? caller.userId
    await requireUser(owner, em)
    return { clientId, owner, placedBySuperadmin: true }
  }

  async function placeOwn(
    { client, owner }: RequestedPlace,
    { userId }: Principal,
    em: EntityManager
  ): Promise<Place> {
    const allowed = await clientsOf(userId, em)
    if (!allowed) throw new Fault(roleRequired, 'only superadmins place rules here: no plugin admits others')
    if (owner !== undefined && owner !== userId)
      throw new Fault(notOwner, 'only a superadmin may place a rule for another user')
    const found = await findClient(client, em, allowed)
    if (!found) throw new Fault(clientNotGranted, `no grant of yours covers a client ${client}`)
    return { clientId: found.id, owner: userId, placedBySuperadmin: false }
  }

  /** Returns the clients on which all fillers let the user place rules; null when there is no filler. */
  async function clientsOf(userId: string, em: EntityManager): Promise<ReadonlySet<string> | null> {
    let allowed: ReadonlySet<string> | null = null
    for (const { clients } of admissions()) {
      const own: ReadonlySet<string> = new Set(await clients(userId, em))
      allowed = allowed ? allowed.intersection(own) : own
    }
    return allowed
  }

  async function admit(rule: Rule, em: EntityManager): Promise<void> {
    if (rule.placedBySuperadmin) return
    for (const { admit } of admissions()) await admit(rule, em)
  }

  return { place, admit }
}

async function requireUser(id: string, em: EntityManager): Promise<void> {
  if (id === operatorId || (await em.count(User, { id })) > 0) return
  throw new Fault(userNotFound, `there is no user ${id}`)
}
