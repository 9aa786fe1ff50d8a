// Clients that enrollment keys admit: each has a key, may wait for an approval, and may be ephemeral.
import { type EntityManager, raw } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import { clientNotPending, clientPending } from './codes.ts'
import { Admission } from './entities.ts'

export interface NewAdmission {
  readonly keyId: string
  readonly isPending: boolean
  readonly ephemeralSecs: number | null
}

/** Numbers of the clients of an enrollment key, without deleted ones. */
export interface KeyClients {
  readonly total: number
  readonly pending: number
}

export const insertAdmission = async (
  clientId: string,
  { keyId, isPending, ephemeralSecs }: NewAdmission,
  now: number,
  em: EntityManager
): Promise<void> => {
  await em.insert(Admission, { clientId, keyId, ephemeralSecs, pendingSince: isPending ? now : null })
}

export async function loadAdmissions(
  ids: readonly string[],
  em: EntityManager
): Promise<ReadonlyMap<string, Admission>> {
  const rows = await em.find(Admission, { clientId: { $in: [...ids] } })
  return new Map(rows.map(row => [row.clientId, row]))
}

/** Returns a fault `client_pending` for each of these clients that waits for an approval. */
export async function pendingFaults(
  ids: readonly string[],
  em: EntityManager
): Promise<ReadonlyMap<string, Fault>> {
  const where = { clientId: { $in: [...ids] }, pendingSince: { $ne: null } }
  const rows = await em.find(Admission, where, { fields: ['clientId'] })
  return new Map(rows.map(({ clientId }) => [clientId, faultOf(clientId)]))
}

const faultOf = (id: string): Fault =>
  new Fault(
    clientPending,
    `client ${id} waits for an approval; approve it first: sluice client approve ${id}`,
    { details: { client_id: id } }
  )

/** Returns a condition for clients that do not wait for an approval. */
export const isApproved = (): object => ({
  [raw(
    alias => `${alias}.id not in (select client_id from clients_admission where pending_since is not null)`
  ) as unknown as string]: []
})

/** Throws `client_not_pending`. */
export async function approveAdmission({ id, revokedAt }: Client, em: EntityManager): Promise<void> {
  if (revokedAt) throw new Fault(clientNotPending, `client ${id} is revoked; re-enroll it instead`)
  const waiting = { clientId: id, pendingSince: { $ne: null } }
  if ((await em.nativeUpdate(Admission, waiting, { pendingSince: null })) === 0)
    throw new Fault(clientNotPending, `client ${id} does not wait for an approval`)
}

export async function countByKey(
  keyIds: readonly string[],
  em: EntityManager
): Promise<ReadonlyMap<string, KeyClients>> {
  const keyId = { $in: [...keyIds] }
  const total = await em.countBy(Admission, 'keyId', { where: { keyId } })
  const pending = await em.countBy(Admission, 'keyId', { where: { keyId, pendingSince: { $ne: null } } })
  return new Map(keyIds.map(id => [id, { total: total[id] ?? 0, pending: pending[id] ?? 0 }]))
}
