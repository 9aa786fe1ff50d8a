// Enrollment keys: each enrolls several hosts. Agents redeem them in redeem-key.ts.
import type { EntityManager } from '@mikro-orm/sql'
import { enrollmentKeyPrefix } from '../../agent/wire/enrollment.ts'
import { latest, timestamp, timestampOrNull } from '../../kernel/base/clock.ts'
import { Fault, invalidSchema, limitReached } from '../../kernel/base/errors.ts'
import { controlChars } from '../../kernel/base/log.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'
import type { Clients } from '../clients/exports.ts'
import { type PagedRows, parseTime, recordFields } from '../http/exports.ts'
import { currentPin, enrollmentUri } from './enrollment-uri.ts'
import { EnrollmentKey } from './entities.ts'
import { enrollmentKeyNotFound, type IssuedKey, type KeyRow, type NewKey } from './key-schema.ts'
import { fieldsIn } from './schema.ts'

const maxKeys = 1000

interface Deps extends Pick<Kernel, 'clock' | 'control' | 'filled'> {
  readonly endpoint: Endpoint
  readonly clients: Pick<Clients, 'countByKey'>
}

export interface EnrollmentKeys {
  /** Checks what the schema cannot, and returns the row of a new key without its secret. Throws Fault. */
  parse(body: NewKey & Readonly<Record<string, unknown>>, createdBy: string): NewKeyRow
  /** Stores a key. Throws Fault if agents could not use the configured endpoint, and `limit_reached`. */
  create(row: NewKeyRow, em: EntityManager): Promise<IssuedKey>
  list(): PagedRows<KeyRow>
  /** Counts the keys with which hosts can enroll. Each pins the certificate. */
  countActive(em: EntityManager): Promise<number>
  /** Throws `enrollment_key_not_found`. */
  read(id: string, em: EntityManager): Promise<KeyRow>
  /** Deletes the key; its clients stay. Throws `enrollment_key_not_found`. */
  remove(id: string, em: EntityManager): Promise<void>
}

type NewKeyRow = Omit<EnrollmentKey, 'id' | 'keyHash' | 'pin' | 'used' | 'createdAt'>

/** True for a key with which no host can enroll, because of its time or its uses. */
export const isOver = (
  { maxUses, used, expiresAt }: EnrollmentKey,
  now: number
): 'spent' | 'expired' | null =>
  expiresAt != null && expiresAt <= now ? 'expired' : maxUses != null && used >= maxUses ? 'spent' : null

export function openEnrollmentKeys(deps: Deps): EnrollmentKeys {
  const { clock, control, filled, endpoint } = deps
  return {
    parse: (body, createdBy) => ({
      label: parseLabel(body.label),
      maxUses: body.uses ?? null,
      isAddressAuto: body.address === 'auto',
      isApprovalNeeded: body.approve ?? false,
      ephemeralSecs: body.ephemeral_secs ?? null,
      expiresAt: parseExpiry(body.expires_at ?? null, latest(clock)),
      fields: recordFields.parse(fieldsIn(filled), body),
      createdBy
    }),

    async create(row, em) {
      const { endpoints, fault } = await endpoint.resolve(em)
      if (fault) throw fault
      if ((await em.count(EnrollmentKey)) >= maxKeys)
        throw new Fault(limitReached, `there are ${maxKeys} enrollment keys already; delete one first`, {
          details: { limit: maxKeys }
        })
      const now = clock.now()
      const secret = `${enrollmentKeyPrefix}${newSecret()}`
      const pin = await currentPin(control, em)
      const key = { ...row, id: newId(now), keyHash: hashOf(secret), pin, used: 0, createdAt: now }
      await em.insert(EnrollmentKey, key)
      const [shown] = await toRows(deps, [key], em)
      if (!shown) throw new TypeError(`enrollment key ${key.id} has no row`)
      const uri = enrollmentUri(endpoints, pin, secret)
      return { ...shown, key: secret, uri, command: `sluice agent enroll '${uri}'` }
    },

    list: () => ({
      async page(after, take, em) {
        const keys = await em.find(
          EnrollmentKey,
          { id: { $gt: after } },
          { orderBy: { id: 'asc' }, limit: take }
        )
        return (await toRows(deps, keys, em)).map(row => ({ key: row.key_id, row }))
      }
    }),

    async countActive(em) {
      const keys = await em.find(EnrollmentKey, { pin: await currentPin(control, em) })
      return keys.filter(key => isOver(key, latest(clock)) === null).length
    },

    async read(id, em) {
      const key = await em.findOne(EnrollmentKey, { id })
      const [row] = key ? await toRows(deps, [key], em) : []
      return row ?? refuseUnknown()
    },

    async remove(id, em) {
      if ((await em.nativeDelete(EnrollmentKey, { id })) === 0) refuseUnknown()
      noteRevoked(em, 'delete from enrollment_key where id = ?', [id])
    }
  }
}

async function toRows(
  { clock, control, filled, clients }: Deps,
  keys: readonly EnrollmentKey[],
  em: EntityManager
): Promise<KeyRow[]> {
  const counts = await clients.countByKey(
    keys.map(({ id }) => id),
    em
  )
  const pin = await currentPin(control, em)
  return keys.map(key => ({
    key_id: key.id,
    label: key.label,
    state: isOver(key, latest(clock)) ?? (key.pin === pin ? 'active' : 'stale'),
    uses: key.maxUses ?? null,
    used: key.used,
    clients: counts.get(key.id)?.total ?? 0,
    pending_clients: counts.get(key.id)?.pending ?? 0,
    expires_at: timestampOrNull(key.expiresAt),
    address: key.isAddressAuto ? ('auto' as const) : null,
    approve: key.isApprovalNeeded,
    ephemeral_secs: key.ephemeralSecs ?? null,
    created_by: key.createdBy,
    created_at: timestamp(key.createdAt),
    ...recordFields.absent(fieldsIn(filled)),
    ...key.fields
  }))
}

function refuseUnknown(): never {
  throw new Fault(enrollmentKeyNotFound, 'no enrollment key has this key_id')
}

function parseLabel(given: string): string {
  const label = given.trim()
  const bytes = Buffer.byteLength(label)
  if (bytes === 0 || bytes > 255) throw refusal('label', 'maxBytes', `has ${bytes} bytes; give 1 to 255`)
  if (controlChars.test(label) || !label.isWellFormed())
    throw refusal('label', 'pattern', 'contains control or bidirectional characters; remove them')
  return label
}

function parseExpiry(given: string | null, now: number): number | null {
  const at = given === null ? null : parseTime(given)
  if (at !== null && at <= now) throw refusal('expires_at', 'past', `${given} has passed; give a later time`)
  return at
}

const refusal = (key: string, reason: string, problem: string): Fault =>
  new Fault(invalidSchema, `/${key} ${problem}`, { details: { field: `/${key}`, reason } })
