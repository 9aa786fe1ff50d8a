// Checks before a client gets an object of a rule.
import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, type ErrorCode, Fault, limitReached } from '../../../kernel/base/errors.ts'
import { isCapable } from '../../../kernel/control/peers.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type Clients, clientRevoked } from '../../clients/exports.ts'
import { DerivedPartRow } from '../entities.ts'
import { clientNotConnected, lastKnownAgent } from '../fields/requirements.ts'
import type { keys } from '../settings.ts'
import type { LoadedDerivedObject } from './derived-object.ts'

/** Requirements of the clients. 'stored': none, because the rule is in the store already. */
export type PartClients = 'connected' | 'capable' | 'stored'

type Services = Pick<Kernel<typeof keys>, 'config' | 'control'> & {
  readonly clients: Pick<Clients, 'pendingFaults'>
}

interface NeededClient {
  readonly clientId: string
  readonly object: Pick<LoadedDerivedObject, 'field' | 'capability' | 'refusal'>
}

/** Throws unless the clients exist, are approved and not revoked, and are as connected and capable as they must be. */
export async function requireClients(
  services: Services,
  needed: readonly NeededClient[],
  clients: Exclude<PartClients, 'stored'>,
  em: EntityManager
): Promise<void> {
  if (needed.length === 0) return
  const ids = [...new Set(needed.map(({ clientId }) => clientId))]
  const found = await em.find(Client, { id: { $in: ids } }, { fields: ['id', 'revokedAt'] })
  const stored = new Map(found.map(client => [client.id, client]))
  const refuse = (code: ErrorCode, { clientId, object: { field } }: NeededClient, why: string): never => {
    const details = { field, client_id: clientId }
    throw new Fault(code, `client ${clientId}, which ${field} needs, ${why}`, { details })
  }
  for (const one of needed) if (!stored.has(one.clientId)) refuse(clientNotFound, one, 'does not exist')
  for (const fault of (await services.clients.pendingFaults(ids, em)).values()) throw fault
  for (const one of needed)
    if (stored.get(one.clientId)?.revokedAt != null) refuse(clientRevoked, one, 'is revoked')
  for (const one of clients === 'connected' ? needed : [])
    if (!services.control.peers.find(one.clientId))
      refuse(clientNotConnected, one, 'is not connected; nothing is changed')
  for (const one of needed) {
    const { field, capability, refusal } = one.object
    const agent = await lastKnownAgent(services, one.clientId, em)
    if (!agent || isCapable(agent, capability)) continue
    const { id, since } = capability
    const lacks = `runs ${agent.agentVersion}, without ${id} ${since}; update its agent, or omit ${field}`
    refuse(refusal, one, lacks)
  }
}

/** Throws if a client has more objects of rules of other clients than it may have rules. */
export async function requireRoom(
  { config }: Services,
  added: readonly Pick<DerivedPartRow, 'clientId' | 'owner'>[],
  em: EntityManager
): Promise<void> {
  const { max_rules_per_client: ofClient, max_rules_per_owner_per_client: ofOwner } = config
  const limits = new Map(
    added.flatMap(({ clientId, owner }) => [
      [clientId, { where: { clientId }, limit: ofClient }],
      [`${clientId} ${owner}`, { where: { clientId, owner }, limit: ofOwner }]
    ])
  )
  for (const { where, limit } of limits.values()) {
    if ((await em.count(DerivedPartRow, where)) <= limit) continue
    const { clientId } = where
    const message = `client ${clientId} has ${limit} objects of rules of other clients already; remove such a rule first`
    throw new Fault(limitReached, message, { details: { limit, client_id: clientId } })
  }
}
