// The envelope of an owner on a client limits all rules of the owner there together. It outlives the last rule.
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault, notOwner } from '../../kernel/base/errors.ts'
import { requireCapability } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import { seesAll } from '../http/exports.ts'
import type { Rules } from '../rules/exports.ts'
import type { Users } from '../users/exports.ts'
import { type EnvelopeDelivery, envelopeKey, openDelivery } from './delivery.ts'
import { Envelope } from './entities.ts'
import { envelopeJournalEntry } from './envelope-journal-entry.ts'
import { type Lifecycle, openLifecycle } from './lifecycle.ts'
import { parseLimits, type RateLimit } from './limits.ts'
import { unsupported } from './requirement.ts'
import {
  type EnvelopeBody,
  type EnvelopeRow,
  limitsEmpty,
  type OwnerParams,
  type OwnerRow
} from './schema.ts'
import { capability } from './wire.ts'

export const envelopeNotFound = defineCode('owner_rate_limit_not_found', 404, 8)

export interface Services extends Kernel {
  readonly clients: Clients
  readonly users: Users
  readonly rules: Rules
}
export interface Envelopes extends EnvelopeDelivery {
  /** Waits until the client applies the envelope, unless it is offline. Throws for unknown owners and clients. */
  set(at: OwnerParams, body: EnvelopeBody, call: Pick<Call, 'change'>): Promise<EnvelopeRow>
  /** Succeeds even if there is no envelope. */
  remove(at: OwnerParams, call: Pick<Call, 'change'>): Promise<void>
  read(at: OwnerParams, principal: Principal): Promise<EnvelopeRow>
  /** Returns the owners of rules on the client, and owners with an envelope but no rules. */
  owners(clientId: string): Promise<OwnerRow[]>
  readonly lifecycle: Lifecycle
}

export function openEnvelopes(deps: Services): Envelopes {
  const { store, clock, control, clients, users, rules } = deps
  const lifecycle = openLifecycle(deps)

  async function set(at: OwnerParams, body: EnvelopeBody, { change }: Pick<Call, 'change'>) {
    const limits = requireLimits(body)
    const { client_id: clientId, owner_id: ownerId } = at
    const { row, refreshed, delivery } = await change(envelopeResource(at), async em => {
      const client = await clients.get(clientId, em)
      if (ownerId !== operatorId) await users.get(em, ownerId)
      requireCapability(client, capability, unsupported)
      const now = clock.now()
      const known = await em.findOne(Envelope, { clientId, ownerId })
      const createdAt = known?.createdAt ?? now
      const envelope = { clientId, ownerId, limits, enforced: false, createdAt, updatedAt: now }
      await em.upsert(Envelope, envelope)
      await control.objects.put(em, envelopeKey({ clientId, ownerId }))
      const delivery = await control.objects.deliver(em, envelopeKey({ clientId, ownerId }), 'push')
      await rules.addJournalEntry(envelopeJournalEntry(envelope, known?.limits ?? null, limits), em)
      const refreshed = known ? () => {} : await rules.refresh({ clientId, owner: ownerId }, em)
      return { row: toRow(envelope), refreshed, delivery }
    })
    refreshed()
    const result = await delivery.answered()
    return { ...row, enforced: result?.status === 'applied' }
  }

  async function remove(at: OwnerParams, { change }: Pick<Call, 'change'>): Promise<void> {
    const { client_id: clientId, owner_id: ownerId } = at
    const removed = await change(envelopeResource(at), async em => {
      await clients.get(clientId, em)
      const refreshed = await lifecycle.remove({ clientId, ownerId }, em)
      const key = envelopeKey({ clientId, ownerId })
      return refreshed && { refreshed, delivery: await control.objects.deliver(em, key, 'remove') }
    })
    removed?.refreshed()
    await removed?.delivery.answered()
  }

  async function read({ client_id: clientId, owner_id: ownerId }: OwnerParams, principal: Principal) {
    if (!seesAll(principal) && principal.userId !== ownerId)
      throw new Fault(notOwner, 'the envelope belongs to another user')
    await clients.read(clientId, principal)
    const found = await store.read(em => em.findOne(Envelope, { clientId, ownerId }))
    if (!found) throw new Fault(envelopeNotFound, `${ownerId} has no rate limit on client ${clientId}`)
    return toRow(found)
  }

  return { set, remove, read, owners: openOwners(deps), lifecycle, ...openDelivery(deps) }
}

const openOwners =
  ({ store, clients, rules }: Services) =>
  (clientId: string): Promise<OwnerRow[]> =>
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

export const envelopeResource = ({ client_id: clientId, owner_id: ownerId }: OwnerParams): Resource => ({
  kind: 'owner_rate_limit',
  id: `${clientId}/${ownerId}`.replaceAll('\0', '\uFFFD'), // the path can have any owner id
  async version(em) {
    const found = await em.findOne(Envelope, { clientId, ownerId })
    return found && [found.limits, found.createdAt, found.updatedAt]
  }
})

/** Returns the limits as they are stored. */
export function requireLimits(body: EnvelopeBody): RateLimit {
  const limits = parseLimits(...limitsIn(body))
  if (limits) return limits
  throw new Fault(limitsEmpty, 'the body has no limit; use DELETE to remove an envelope')
}

/** Returns the limits at the top level of the body; if there are none, those in `rate_limit`. */
function limitsIn(body: EnvelopeBody): [limits: RateLimit, pointer: string] {
  const { client_id, owner_id, enforced, updated_at, rate_limit = {}, ...flat } = body
  return Object.keys(flat).length > 0 ? [flat, ''] : [rate_limit, '/rate_limit']
}

const toRow = ({
  clientId,
  ownerId,
  limits,
  enforced,
  updatedAt
}: Omit<Envelope, 'createdAt'>): EnvelopeRow => ({
  client_id: clientId,
  owner_id: ownerId,
  rate_limit: limits,
  enforced,
  updated_at: timestamp(updatedAt)
})
