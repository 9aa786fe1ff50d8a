// Who may place a rule where: a superadmin anywhere and for anyone, others as the fillers of `rules.admit` say.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, notOwner, roleRequired, userNotFound } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Rule } from './entities.ts'
import { admitSlot, clientNotGranted } from './exports.ts'
import { findClient, requireClient } from './find-client.ts'
import type { CreateBody } from './schema.ts'

type Asked = Pick<CreateBody, 'client' | 'owner'>
type Place = Pick<Rule, 'clientId' | 'owner' | 'placedBySuperadmin'>

export function openPlacing(filled: SlotReader) {
  const admissions = () => filled(admitSlot).map(({ value }) => value)

  async function place(asked: Asked, caller: Principal, em: EntityManager): Promise<Place> {
    if (caller.role !== 'superadmin') return placeOwn(asked, caller, em)
    const { id: clientId } = await requireClient(asked.client, em)
    const owner = asked.owner ?? caller.userId
    await requireUser(owner, em)
    return { clientId, owner, placedBySuperadmin: true }
  }

  async function placeOwn(
    { client, owner }: Asked,
    { userId }: Principal,
    em: EntityManager
  ): Promise<Place> {
    const known = await clientsOf(userId, em)
    if (!known) throw new Fault(roleRequired, 'only superadmins place rules here: no plugin admits others')
    if (owner !== undefined && owner !== userId)
      throw new Fault(notOwner, 'only a superadmin may place a rule for another user')
    const found = await findClient(client, em, known)
    if (!found) throw new Fault(clientNotGranted, `no grant of yours covers a client ${client}`)
    return { clientId: found.id, owner: userId, placedBySuperadmin: false }
  }

  /** On which all fillers let the user place rules; null when there is no filler. */
  async function clientsOf(userId: string, em: EntityManager): Promise<ReadonlySet<string> | null> {
    let known: ReadonlySet<string> | null = null
    for (const { clients } of admissions()) {
      const more: ReadonlySet<string> = new Set(await clients(userId, em))
      known = known ? known.intersection(more) : more
    }
    return known
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
