import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Endpoint } from '../advertised-endpoint/endpoint.ts'
import { enrollmentNotFound } from './codes.ts'
import { Enrollment } from './entities.ts'
import type { EnrollmentRow, Invitation } from './schema.ts'

/** How long a spent or expired code is still told from one that never was. */
const memoryMs = 7 * 24 * 3_600_000

interface Deps extends Pick<Kernel, 'clock' | 'control'> {
  readonly endpoint: Endpoint
}

interface Wanted extends Pick<Enrollment, 'name' | 'address' | 'clientId' | 'createdBy'> {
  readonly ttlSecs: number
}

export type Enrollments = ReturnType<typeof openEnrollments>

/** The codes that an operator hands out. What becomes of one on the edge host is redeem.ts. */
export function openEnrollments({ clock, control, endpoint }: Deps) {
  const open = () => ({ usedAt: null, expiresAt: { $gt: clock.now() } })

  async function invite({ ttlSecs, ...wanted }: Wanted, em: EntityManager): Promise<Invitation> {
    const { effective, source, fault } = await endpoint.resolve(em)
    if (fault) throw fault
    if (wanted.clientId) await voidUnused({ id: wanted.clientId }, em)
    const now = clock.now()
    await em.nativeDelete(Enrollment, { expiresAt: { $lt: now - memoryMs } })

    const code = newSecret()
    const made = {
      ...wanted,
      id: newId(now),
      codeHash: hashOf(code),
      endpoint: source === 'loopback' ? null : effective,
      createdAt: now,
      expiresAt: now + ttlSecs * 1000
    }
    await em.insert(Enrollment, made)
    const uri = `svc://${effective}/enroll?pin=sha256:${control.fingerprint}&code=${code}`
    return {
      enrollment_id: made.id,
      client_name: made.name,
      expires_at: timestamp(made.expiresAt),
      command: `sluice agent enroll '${uri}'`,
      uri
    }
  }

  /** Codes that can still be redeemed. */
  const list = (): PagedRows<EnrollmentRow> => ({
    async page(after, take, em) {
      const above = after === null ? {} : { id: { $gt: after } }
      const page = await em.find(Enrollment, { ...open(), ...above }, { orderBy: { id: 'asc' }, limit: take })
      return page.map(row => ({ key: row.id, row: rowOf(row) }))
    }
  })

  async function cancel(id: string, em: EntityManager): Promise<void> {
    if ((await em.nativeDelete(Enrollment, { id, ...open() })) === 0)
      throw new Fault(enrollmentNotFound, 'no unused code has this enrollment_id')
  }

  /** Unused codes of a client that is revoked, or gets a new one. */
  async function voidUnused({ id }: Pick<Client, 'id'>, em: EntityManager): Promise<void> {
    await em.nativeDelete(Enrollment, { clientId: id, usedAt: null })
  }

  async function forget({ id }: Pick<Client, 'id'>, em: EntityManager): Promise<void> {
    await em.nativeDelete(Enrollment, { clientId: id })
  }

  return { invite, list, cancel, voidUnused, forget }
}

const rowOf = (row: Enrollment): EnrollmentRow => ({
  enrollment_id: row.id,
  client_id: row.clientId ?? null,
  client_name: row.name,
  address: row.address ?? null,
  created_by: row.createdBy,
  created_at: timestamp(row.createdAt),
  expires_at: timestamp(row.expiresAt)
})
