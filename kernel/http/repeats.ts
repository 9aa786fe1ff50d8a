// Idempotency-Key: a repeated request gets the first answer, also after a crash, and never does its work twice.
import { createHmac } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import type { Clock } from '../base/clock.ts'
import {
  defineCode,
  Fault,
  idempotencyInProgress,
  idempotencyKeyReused,
  idempotencySecretSpent
} from '../base/errors.ts'
import { Fact, Repeat } from '../identity/entities.ts'
import { hashOf, newSecret } from '../identity/secret.ts'
import type { Database } from '../store/open.ts'
import type { ErrorBody } from './envelope.ts'
import type { Resource } from './route.ts'
import { isRead, type Outcome, type Turn } from './turn.ts'

export const invalidKey = defineCode('validation.idempotency_key', 400, 3)

const keptMs = 24 * 3_600_000
const maxKept = 1000 // a principal

/** A request holds its key from the look-up to its end. */
export interface Claim {
  readonly id: string
  readonly principal: string
  readonly bodyMac: string
  /** What an earlier request with this key has done. Without an answer: it changed this, and no more is known. */
  readonly past: Past | null
}

interface Past {
  readonly resource: Resource
  readonly answer: Outcome | null
}

export interface Kept {
  readonly resource: Resource | null
  readonly status: number
  readonly answer: string | null // null: it held a secret
}

export interface Repeats {
  /** Null where keys do not count. */
  claim(turn: Turn, key: string, body: unknown): Promise<Claim | null>
  /** In the transaction of the change: this key has done its work. */
  note(claim: Claim, resource: Resource, em: EntityManager): Promise<void>
  keep(claim: Claim, kept: Kept, em: EntityManager): Promise<void>
  release(claim: Claim): void
}

interface Options {
  readonly store: Pick<Database, 'read' | 'change'>
  readonly clock: Clock
}

export function openRepeats({ store, clock }: Options): Repeats {
  const running = new Map<string, string>() // id to bodyMac
  let macKey: Promise<string> | null = null

  async function claim(turn: Turn, key: string, body: unknown): Promise<Claim | null> {
    const { visit, principal } = turn
    if (isRead(turn) || principal.method === 'none' || visit.path.startsWith('/v1/auth/')) return null
    if (!/^[A-Za-z0-9._-]{1,128}$/.test(key))
      throw new Fault(invalidKey, 'Idempotency-Key must be 1 to 128 characters of A-Z a-z 0-9 . _ -')
    const id = hashOf([principal.userId, visit.method, visit.path, key].join('\n'))
    macKey ??= readMacKey(store)
    const bodyMac = createHmac('sha256', await macKey)
      .update(JSON.stringify(body))
      .digest('hex')
    const other = running.get(id)
    if (other === bodyMac)
      throw new Fault(idempotencyInProgress, 'the first request with this key still runs')
    if (other !== undefined) throw reused()
    running.set(id, bodyMac)
    try {
      return { id, principal: principal.userId, bodyMac, past: await pastOf(id, bodyMac) }
    } catch (error) {
      running.delete(id)
      throw error
    }
  }

  async function pastOf(id: string, bodyMac: string): Promise<Past | null> {
    const createdAt = { $gt: clock.now() - keptMs }
    const row = await store.read(em => em.findOne(Repeat, { id, createdAt }))
    if (!row) return null
    if (row.bodyMac !== bodyMac) throw reused()
    const resource = { kind: row.resourceKind, id: row.resourceId }
    const { status = null, answer = null } = row
    if (status === null) return { resource, answer: null }
    if (answer === null) throw spent(resource)
    return { resource, answer: { status, reason: reasonIn(status, answer), answer } }
  }

  async function put({ id, principal, bodyMac }: Claim, { resource, ...kept }: Row, em: EntityManager) {
    const now = clock.now()
    await em.nativeDelete(Repeat, { principal, createdAt: { $lte: now - keptMs } })
    const orderBy = { createdAt: 'desc', id: 'desc' } as const
    const surplus = await em.find(
      Repeat,
      { principal },
      { fields: ['id'], orderBy, offset: maxKept - 1, limit: maxKept }
    )
    if (surplus.length > 0) await em.nativeDelete(Repeat, { id: surplus.map(row => row.id) })
    const of = { resourceKind: resource?.kind ?? '', resourceId: resource?.id ?? '' }
    await em.insert(Repeat, { id, principal, bodyMac, ...of, ...kept, createdAt: now })
  }

  return {
    claim,
    note: (claim, resource, em) => put(claim, { resource, status: null, answer: null }, em),
    async keep(claim, { resource, status, answer }, em) {
      const updated = await em.nativeUpdate(Repeat, { id: claim.id }, { status, answer })
      if (updated === 0) await put(claim, { resource, status, answer }, em)
    },
    release: ({ id }) => void running.delete(id)
  }
}

interface Row extends Omit<Kept, 'status'> {
  readonly status: number | null
}

/** Bodies hold passwords: they are kept under a key of the store's own. */
const readMacKey = (store: Options['store']): Promise<string> =>
  store.change(async em => {
    const name = 'repeat_key'
    const found = await em.findOne(Fact, { name })
    if (found) return found.value
    const value = newSecret()
    await em.insert(Fact, { name, value })
    return value
  })

const reasonIn = (status: number, answer: string): string | null =>
  status < 400 ? null : (JSON.parse(answer) as Static<typeof ErrorBody>).error.code // we wrote it

const reused = () => new Fault(idempotencyKeyReused, 'this Idempotency-Key came with another body before')

/** The work is done; its answer cannot be shown again. */
export const spent = ({ kind, id }: Resource): Fault =>
  new Fault(idempotencySecretSpent, `${kind} ${id} was changed with this key; its answer is not kept`, {
    details: { resource_kind: kind, resource_id: id }
  })
