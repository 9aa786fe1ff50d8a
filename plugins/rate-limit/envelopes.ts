// The envelope of an owner on a client: what all its rules there have in common, also when there is none any more.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault, notOwner } from '../../kernel/base/errors.ts'
import { isCapable } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Client, User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import type { Rules } from '../rules/exports.ts'
import type { Removed, Users } from '../users/exports.ts'
import { objectKeyOf, openDelivery } from './delivery.ts'
import { Envelope } from './entities.ts'
import { parseLimits, type RateLimit } from './limits.ts'
import {
  type EnvelopeBody,
  type EnvelopeRow,
  limitsEmpty,
  type OwnerParams,
  type OwnerRow
} from './schema.ts'
import { capability } from './wire.ts'

export const unsupported = defineCode('rate_limit_unsupported_by_client', 422, 3)
export const envelopeNotFound = defineCode('owner_rate_limit_not_found', 404, 8)

export interface Services extends Kernel {
  readonly clients: Clients
  readonly users: Users
  readonly rules: Rules
}
export type Envelopes = ReturnType<typeof openEnvelopes>

export function openEnvelopes(deps: Services) {
  const { store, clock, control, clients, users, rules } = deps

  async function set(at: OwnerParams, body: EnvelopeBody, { change }: Pick<Call, 'change'>) {
    const limits = parseLimits(...givenIn(body))
    if (!limits) throw new Fault(limitsEmpty, 'the body limits nothing; DELETE takes an envelope away')
    const { client_id: clientId, owner_id: ownerId } = at
    const row = await change(resource(at), async em => {
      const client = await clients.get(clientId, em)
      if (ownerId !== operatorId) await users.get(em, ownerId)
      refuseUnable(client)
      const now = clock.now()
      const known = await em.findOne(Envelope, { clientId, ownerId })
      const envelope = { clientId, ownerId, limits, createdAt: known?.createdAt ?? now, updatedAt: now }
      await em.upsert(Envelope, envelope)
      await control.objects.put(em, objectKeyOf({ clientId, ownerId }))
      return rowOf(envelope)
    })
    await control.objects.deliver(objectKeyOf({ clientId, ownerId }), 'push')
    return row
  }

  /** What is not there is as good as removed. */
  async function remove(at: OwnerParams, { change }: Pick<Call, 'change'>): Promise<void> {
    const { client_id: clientId, owner_id: ownerId } = at
    const isLifted = await change(resource(at), async em => {
      await clients.get(clientId, em)
      return lift({ clientId, ownerId }, em)
    })
    if (isLifted) await control.objects.deliver(objectKeyOf({ clientId, ownerId }), 'remove')
  }

  async function lift({ clientId, ownerId }: Pick<Envelope, 'clientId' | 'ownerId'>, em: EntityManager) {
    if ((await em.nativeDelete(Envelope, { clientId, ownerId })) === 0) return false
    await control.objects.drop(em, objectKeyOf({ clientId, ownerId }), 'cut')
    return true
  }

  async function read({ client_id: clientId, owner_id: ownerId }: OwnerParams, principal: Principal) {
    if (principal.role !== 'superadmin' && principal.userId !== ownerId)
      throw new Fault(notOwner, 'this is the envelope of another user')
    await clients.read(clientId, principal)
    const found = await store.read(em => em.findOne(Envelope, { clientId, ownerId }))
    if (!found) throw new Fault(envelopeNotFound, `${ownerId} has no rate limit on client ${clientId}`)
    return rowOf(found)
  }

  /** Those with rules on the client, and those whose envelope has outlived their rules. */
  const owners = (clientId: string): Promise<OwnerRow[]> =>
    store.read(async em => {
      await clients.get(clientId, em)
      const counts = new Map<string, number>()
      for (const { owner } of await rules.matching({ clientId }, em))
        counts.set(owner, (counts.get(owner) ?? 0) + 1)
      const limited = new Set((await em.find(Envelope, { clientId })).map(({ ownerId }) => ownerId))
      return [...new Set([...counts.keys(), ...limited])].sort().map(owner_id => ({
        owner_id,
        rule_count: counts.get(owner_id) ?? 0,
        has_rate_limit: limited.has(owner_id)
      }))
    })

  async function forgetUser({ id: ownerId }: User, em: EntityManager): Promise<Removed> {
    const gone = await em.find(Envelope, { ownerId })
    for (const envelope of gone) await lift(envelope, em)
    return { ids: [], afterCommit: () => gone.forEach(({ clientId }) => void control.objects.wake(clientId)) }
  }

  const forgetClient = async ({ id: clientId }: Client, em: EntityManager): Promise<void> =>
    void (await em.nativeDelete(Envelope, { clientId }))

  /** At start: of users and clients that went while this plugin was off. A later user of a name inherits nothing. */
  async function sweep(em: EntityManager): Promise<void> {
    const made = new Map((await em.find(User, {})).map(({ id, createdAt }) => [id, createdAt]))
    const known = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    for (const envelope of await em.find(Envelope, {})) {
      const { clientId, ownerId, createdAt } = envelope
      const isHeir = ownerId !== operatorId && (made.get(ownerId) ?? Number.POSITIVE_INFINITY) > createdAt
      if (!known.has(clientId)) await em.nativeDelete(Envelope, { clientId, ownerId })
      else if (isHeir) await lift(envelope, em)
    }
  }

  return { set, remove, read, owners, forgetUser, forgetClient, sweep, ...openDelivery(deps) }
}

/** As it is now, or as it was last seen; one that was never seen is judged when it joins. */
function refuseUnable({ id, agentVersion, capabilities = null }: Client): void {
  if (agentVersion == null || isCapable({ agentVersion, capabilities }, capability)) return
  const { id: what, since } = capability
  throw new Fault(
    unsupported,
    `client ${id} runs ${agentVersion}, without ${what} ${since}; update its agent`
  )
}

const resource = ({ client_id, owner_id }: OwnerParams) => ({
  kind: 'owner_rate_limit',
  id: `${client_id}/${owner_id}`
})

/** What stands flat is meant, beside what was read. */
function givenIn(body: EnvelopeBody): [given: RateLimit, at: string] {
  const { client_id, owner_id, updated_at, rate_limit = {}, ...flat } = body
  return Object.keys(flat).length > 0 ? [flat, ''] : [rate_limit, '/rate_limit']
}

const rowOf = ({ clientId, ownerId, limits, updatedAt }: Omit<Envelope, 'createdAt'>): EnvelopeRow => ({
  client_id: clientId,
  owner_id: ownerId,
  rate_limit: limits,
  updated_at: timestamp(updatedAt)
})
