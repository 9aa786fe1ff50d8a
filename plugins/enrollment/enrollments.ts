import type { EntityManager } from '@mikro-orm/sql'
import { earliest, latest, timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'
import type { PagedRows } from '../http/exports.ts'
import { currentPin, enrollmentUri } from './enrollment-uri.ts'
import { Enrollment } from './entities.ts'
import { type EnrollmentRow, fieldsIn, type Invitation } from './schema.ts'

export const enrollmentNotFound = defineCode('enrollment_not_found', 404, 8)

/** Used and expired codes stay this long, so that they get a specific error. */
const retentionMs = 7 * 24 * 3_600_000

interface Deps extends Pick<Kernel, 'clock' | 'control' | 'filled'> {
  readonly endpoint: Endpoint
}

interface EnrollmentRequest
  extends Pick<Enrollment, 'name' | 'address' | 'fields' | 'clientId' | 'createdBy'> {
  readonly ttlSecs: number
}

export interface Enrollments {
  /** Makes a code. Throws Fault if agents could not use the configured endpoint. */
  create(request: EnrollmentRequest, em: EntityManager): Promise<Invitation>
  /** Lists the codes that can still be redeemed. */
  list(): PagedRows<EnrollmentRow>
  /** Counts the codes that other hosts can still redeem. Each pins the certificate. */
  countUnused(em: EntityManager): Promise<number>
  /** Throws `enrollment_not_found` for a used or expired code. */
  cancel(id: string, em: EntityManager): Promise<void>
  /** Deletes the unused codes of a client that is revoked or gets a new code. */
  deleteUnused(client: Pick<Client, 'id'>, em: EntityManager): Promise<void>
  deleteAll(client: Pick<Client, 'id'>, em: EntityManager): Promise<void>
}

/** Creates, lists and cancels one-time codes. Agents redeem them in redeem.ts. */
export function openEnrollments({ clock, control, filled, endpoint }: Deps): Enrollments {
  const redeemable = async (em: EntityManager) => ({
    usedAt: null,
    expiresAt: { $gt: latest(clock) },
    pin: await currentPin(control, em)
  })

  async function create({ ttlSecs, ...request }: EnrollmentRequest, em: EntityManager): Promise<Invitation> {
    const { effective, endpoints, source, fault } = await endpoint.resolve(em)
    if (fault) throw fault
    if (request.clientId) await deleteUnused({ id: request.clientId }, em)
    const now = clock.now()
    await em.nativeDelete(Enrollment, { expiresAt: { $lt: earliest(clock) - retentionMs } })
    const code = newSecret()
    const enrollment = {
      ...request,
      id: newId(now),
      codeHash: hashOf(code),
      pin: await currentPin(control, em),
      endpoint: source === 'loopback' ? null : effective,
      createdAt: now,
      expiresAt: latest(clock) + ttlSecs * 1000
    }
    await em.insert(Enrollment, enrollment)
    const uri = enrollmentUri(endpoints, enrollment.pin, code)
    return {
      enrollment_id: enrollment.id,
      client_name: enrollment.name,
      expires_at: timestamp(enrollment.expiresAt),
      command: `sluice agent enroll '${uri}'`,
      uri
    }
  }

  const list = (): PagedRows<EnrollmentRow> => ({
    async page(after, take, em) {
      const where = { ...(await redeemable(em)), id: { $gt: after } }
      const page = await em.find(Enrollment, where, { orderBy: { id: 'asc' }, limit: take })
      return page.map(row => ({ key: row.id, row: rowOf(row, filled) }))
    }
  })

  async function cancel(id: string, em: EntityManager): Promise<void> {
    if ((await em.nativeDelete(Enrollment, { id, ...(await redeemable(em)) })) === 0)
      throw new Fault(enrollmentNotFound, 'no unused code has this enrollment_id')
  }

  async function deleteUnused({ id }: Pick<Client, 'id'>, em: EntityManager): Promise<void> {
    await em.nativeDelete(Enrollment, { clientId: id, usedAt: null })
  }

  async function deleteAll({ id }: Pick<Client, 'id'>, em: EntityManager): Promise<void> {
    await em.nativeDelete(Enrollment, { clientId: id })
  }

  const countUnused: Enrollments['countUnused'] = async em =>
    em.count(Enrollment, { ...(await redeemable(em)), endpoint: { $ne: null } })

  return { create, list, countUnused, cancel, deleteUnused, deleteAll }
}

const rowOf = (row: Enrollment, filled: SlotReader): EnrollmentRow => ({
  enrollment_id: row.id,
  client_id: row.clientId ?? null,
  client_name: row.name,
  address: row.address ?? null,
  created_by: row.createdBy,
  created_at: timestamp(row.createdAt),
  expires_at: timestamp(row.expiresAt),
  ...Object.fromEntries(
    fieldsIn(filled).map(({ value: { key, absent } }) => [key, row.fields?.[key] ?? absent])
  )
})
