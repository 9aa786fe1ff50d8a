// Decides who may place a rule: operators and superadmins on every client and for every user, others where `rules.admit`
// allows it.
import type { EntityManager } from '@mikro-orm/sql'
import {
  clientNotFound,
  Fault,
  invalidSchema,
  notOwner,
  roleRequired,
  userNotFound
} from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import { Client, User } from '../../../kernel/identity/entities.ts'
import { operatorId } from '../../../kernel/identity/identity.ts'
import { isId } from '../../../kernel/platform/id.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { clientNameAmbiguous } from '../../clients/exports.ts'
import { managesAll, managesUsers } from '../../http/exports.ts'
import type { Values } from '../api/rule-record.ts'
import type { CreateBody } from '../api/schema.ts'
import { noClient, type Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import type { LoadedField } from '../fields/rule-field.ts'
import { admitSlot, clientNotGranted } from '../slots.ts'

type Placement = Pick<Rule, 'clientId' | 'owner' | 'placedBy' | 'isExempt'>

/** Throws unless the request names one client, or has the field that places rules on several. */
export function requirePlace(
  client: string | undefined,
  values: Values,
  placing: LoadedField | undefined
): void {
  const isPlaced = placing !== undefined && (values[placing.key] ?? null) !== null
  if (isPlaced !== (client !== undefined)) return
  const either = placing ? `/client or /${placing.key}` : '/client'
  const message = isPlaced ? `give ${either}, not both` : `${either} is required`
  throw new Fault(invalidSchema, message, {
    details: { field: '/client', reason: isPlaced ? 'oneOf' : 'required' }
  })
}

/**
 * Returns client, owner and placer of a rule; throws unless the user may place rules there. Without a client it is a
 * group rule: `admit` judges each member. `before`: the rule that the request changes.
 */
export async function resolvePlacement(
  { client, owner, placed_by: placer }: Pick<CreateBody, 'client' | 'owner' | 'placed_by'>,
  caller: Principal,
  filled: SlotReader,
  em: EntityManager,
  before?: Pick<Rule, 'placedBy'>
): Promise<Placement> {
  const { userId } = caller
  if (managesAll(caller)) {
    const { id: clientId } = client === undefined ? { id: noClient } : await requireClient(client, em)
    const placedBy = placer ?? userId
    const ruleOwner = owner ?? userId
    await requireUser(ruleOwner, em)
    await requireUser(placedBy, em)
    const isExempt = await isManager(placedBy, em)
    const isOwnOrSame = placedBy === userId || placedBy === before?.placedBy
    if (isExempt && !isOwnOrSame && !managesUsers(caller))
      throw new Fault(notOwner, 'only a superadmin may say that another operator or superadmin placed a rule')
    return { clientId, owner: ruleOwner, placedBy, isExempt }
  }
  const allowed = await allowedClients(userId, filled, em)
  if (!allowed)
    throw new Fault(roleRequired, 'only operators and superadmins place rules here: no plugin admits others')
  if (owner !== undefined && owner !== userId)
    throw new Fault(notOwner, 'only an operator or a superadmin may place a rule for another user')
  if (placer !== undefined && placer !== userId)
    throw new Fault(
      notOwner,
      'only an operator or a superadmin may say that another user placed a rule: omit placed_by'
    )
  const found = client === undefined ? { id: noClient } : await findClient(client, em, allowed)
  if (!found) throw new Fault(clientNotGranted, `you are not allowed to place rules on client ${client}`)
  return { clientId: found.id, owner: userId, placedBy: userId, isExempt: false }
}

/** Throws unless all fillers of `rules.admit` allow the owner to place this rule. */
export async function admitRule(
  rule: Rule,
  filled: SlotReader,
  { em, clientTexts }: Pick<ChangeBy, 'em' | 'clientTexts'>
): Promise<void> {
  if (rule.isExempt) return
  const textOf = (clientId: string): string => clientTexts?.get(clientId) ?? clientId
  for (const { value } of filled(admitSlot)) await value.admit(rule, em, textOf)
}

/** Ids of clients. */
export type ClientScope = ReadonlySet<string> | 'all'

/** Returns the clients on which all fillers allow the user to place rules; null without a filler. */
export async function allowedClients(
  userId: string,
  filled: SlotReader,
  em: EntityManager
): Promise<ClientScope | null> {
  let allowed: ClientScope | null = null
  for (const { value } of filled(admitSlot)) {
    const clients = await value.clients(userId, em)
    if (clients === 'all') allowed ??= 'all'
    else {
      const own = new Set(clients)
      allowed = allowed === null || allowed === 'all' ? own : allowed.intersection(own)
    }
  }
  return allowed
}

/** True for a user who needs no admission for rules. */
export const isManager = async (id: string, em: EntityManager): Promise<boolean> =>
  id === operatorId || (await em.count(User, { id, role: { $in: ['operator', 'superadmin'] } })) > 0

async function requireUser(id: string, em: EntityManager): Promise<void> {
  if (id === operatorId || (await em.count(User, { id })) > 0) return
  throw new Fault(userNotFound, `there is no user ${id}`)
}

/** Text in the form of an id is an id; any other text is a name. */
export const clientCondition = (client: string): { id: string } | { name: string } =>
  isId(client) ? { id: client } : { name: client }

/** Finds one client by id or name, among all or the allowed ones; throws if several have the name. */
export async function findClient(client: string, em: EntityManager, allowed: ClientScope = 'all') {
  const all = await em.find(Client, clientCondition(client), { orderBy: { id: 'asc' } })
  const found = allowed === 'all' ? all : all.filter(({ id }) => allowed.has(id))
  if (found.length < 2) return found[0] ?? null
  const details = { client_ids: found.map(({ id }) => id) }
  throw new Fault(clientNameAmbiguous, `${found.length} clients are named ${client}; give an id`, { details })
}

export async function requireClient(client: string, em: EntityManager): Promise<Client> {
  const found = await findClient(client, em)
  if (!found) throw new Fault(clientNotFound, `there is no client ${client}`)
  return found
}
