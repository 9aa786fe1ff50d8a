// The clients of a group rule: those that its field chooses, among the clients on which the rule may be.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, limitReached } from '../../../kernel/base/errors.ts'
import type { Values } from '../api/rule-record.ts'
import { allowedClients, type ClientScope } from '../changes/placement.ts'
import { Rule } from '../entities.ts'
import type { RuleCore } from '../fields/rule-field.ts'
import type { Services } from '../services.ts'

export const maxMembers = 1000

type Owned = Pick<RuleCore, 'id' | 'owner' | 'isExempt'>

/**
 * Returns the clients that a group rule can choose from. Its owner must not learn that others exist, so a rule that is
 * not exempt has only clients where the owner may place rules, and those of its members.
 */
export async function choosableClients(
  { filled }: Pick<Services, 'filled'>,
  { id, owner, isExempt }: Owned,
  em: EntityManager
): Promise<ClientScope> {
  if (isExempt) return 'all'
  const allowed = (await allowedClients(owner, filled, em)) ?? new Set()
  if (allowed === 'all') return allowed
  const members = await em.find(Rule, { parent: id, state: { $ne: 'draining' } }, { fields: ['clientId'] })
  return allowed.union(new Set(members.map(({ clientId }) => clientId)))
}

/** Returns the ids of the clients that the rule's field chooses, among all or some. */
export async function chosenClients(
  services: Services,
  rule: Owned,
  values: Values,
  among: readonly string[] | null,
  em: EntityManager
): Promise<readonly string[]> {
  const field = services.fields.placing()
  const value = field ? (values[field.key] ?? null) : null
  if (value === null || !field?.clientsOf) return []
  const choosable = await choosableClients(services, rule, em)
  if (choosable === 'all') return field.clientsOf(value, among, em, field)
  return field.clientsOf(value, among ? among.filter(id => choosable.has(id)) : [...choosable], em, field)
}

export function requireFewMembers(clients: readonly string[]): void {
  if (clients.length <= maxMembers) return
  const message = `${clients.length} clients are chosen; a rule has at most ${maxMembers}: choose fewer`
  throw new Fault(limitReached, message, { details: { limit: maxMembers } })
}
