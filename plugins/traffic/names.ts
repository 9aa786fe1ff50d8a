// The names of ranked rules, clients and owners.
import type { EntityManager } from '@mikro-orm/sql'
import { Client, User } from '../../kernel/identity/entities.ts'
import type { Rules } from '../rules/exports.ts'

export type Ranked = 'rule' | 'client' | 'owner' | 'target'
export type RuleSource = Pick<Rules, 'matching'>

/** Returns names by key. Deleted rules, clients and users, and targets, have none. */
export async function loadNames(
  by: Ranked,
  keys: readonly string[],
  rules: RuleSource,
  em: EntityManager
): Promise<ReadonlyMap<string, string>> {
  if (by === 'rule') return loadRuleNames(keys, rules, em)
  if (by === 'client') return loadClientNames(keys, em)
  if (by === 'target') return new Map()
  const users = await em.find(User, { id: { $in: [...keys] } })
  return new Map(users.map(({ id, displayName }) => [id, displayName]))
}

async function loadClientNames(ids: readonly string[], em: EntityManager): Promise<Map<string, string>> {
  const clients = await em.find(Client, { id: { $in: [...ids] } })
  return new Map(clients.map(({ id, name }) => [id, name]))
}

/** Returns names as the CLI takes them; without one, CLIENT:PORT[/udp]. A group rule has no client. */
async function loadRuleNames(
  ids: readonly string[],
  rules: RuleSource,
  em: EntityManager
): Promise<ReadonlyMap<string, string>> {
  const found = await rules.matching({ id: { $in: [...ids] } }, em)
  const clients = await loadClientNames(
    found.map(({ clientId }) => clientId),
    em
  )
  return new Map(
    found.flatMap(({ id, name, clientId, listenFrom, protocol }) => {
      if (name != null) return [[id, name]]
      const client = clients.get(clientId)
      return client === undefined ? [] : [[id, `${client}:${listenFrom}${protocol === 'udp' ? '/udp' : ''}`]]
    })
  )
}
