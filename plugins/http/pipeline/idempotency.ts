// Idempotency-Key: a retry gets the first response or, if that was lost, the current state. It never repeats the change.
// The record is written with the change, so that it also decides between the servers of a cluster.
import { createHmac } from 'node:crypto'
import type { InferEntity } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { earliest } from '../../../kernel/base/clock.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Resource } from '../../../kernel/http/route.ts'
import { StoreValue, User } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import * as codes from '../codes.ts'
import { IdempotencyRecord } from '../entities.ts'
import { type Claim, isRead, type Outcome, type RequestContext } from '../request/request-context.ts'
import type { ErrorBody } from '../server/error-body.ts'
import type { HttpOptions } from '../settings.ts'

const retentionMs = 24 * 3_600_000
const maxPerPrincipal = 1000

export interface Idempotency {
  /** Returns null where keys have no effect: reads, unauthenticated callers, and the auth routes. Throws Fault. */
  claim(context: RequestContext, key: string, body: unknown): Promise<Claim | null>
  /** Call it when the request has ended. */
  release(claim: Claim): void
  /** Call it in the transaction of the change. Throws if another server has made the change. */
  recordChange(claim: Claim, resource: Resource | null, em: EntityManager): Promise<void>
  /** Stores the response, unless it contains a secret. */
  recordOutcome(claim: Claim, context: RequestContext, outcome: Outcome, em: EntityManager): Promise<void>
}

export function openIdempotency(options: Pick<HttpOptions, 'store' | 'clock'>): Idempotency {
  const { macOf, findEarlier, recordChange, recordOutcome } = openRecords(options)
  const running = new Map<string, string>() // claim id to body MAC, of requests in progress on this server

  async function claim(context: RequestContext, key: string, body: unknown): Promise<Claim | null> {
    const { requestInfo, principal } = context
    if (isRead(context) || principal.method === 'none' || requestInfo.path.startsWith('/v1/auth/'))
      return null
    if (!/^[A-Za-z0-9._-]{1,128}$/.test(key))
      throw new Fault(codes.invalidKey, 'Idempotency-Key must be 1 to 128 characters of A-Z a-z 0-9 . _ -')
    const id = hashOf([principal.userId, requestInfo.method, requestInfo.path, key].join('\n'))
    const bodyMac = await macOf(body)
    const runningMac = running.get(id)
    if (runningMac === bodyMac)
      throw new Fault(codes.idempotencyInProgress, 'the first request with this key still runs')
    if (runningMac !== undefined) throw keyReused()
    running.set(id, bodyMac)
    try {
      return { id, principal: principal.userId, bodyMac, earlier: await findEarlier(id, bodyMac) }
    } catch (error) {
      running.delete(id)
      throw error
    }
  }

  return { claim, release: ({ id }) => void running.delete(id), recordChange, recordOutcome }
}

function openRecords({ store, clock }: Pick<HttpOptions, 'store' | 'clock'>) {
  let macKey: Promise<string> | null = null
  const { recordOf, insert } = openRows(clock)

  async function macOf(body: unknown): Promise<string> {
    macKey ??= readMacKey(store)
    macKey.catch(() => (macKey = null)) // the next request tries again
    return createHmac('sha256', await macKey)
      .update(canonical(body))
      .digest('hex')
  }

  async function findEarlier(id: string, bodyMac: string): Promise<Claim['earlier']> {
    const record = await store.read(em => recordOf(id, em))
    if (!record) return null
    if (record.bodyMac !== bodyMac) throw keyReused()
    const { status = null, answer = null } = record
    const resource = { kind: record.resourceKind, id: record.resourceId }
    if (status === null) return { resource, outcome: null }
    if (answer === null) throw secretSpent(resource)
    const reason = status < 400 ? null : (JSON.parse(answer) as Static<typeof ErrorBody>).error.code // written by us
    const changed = resource.kind === '' ? null : resource // a refusal changed nothing
    return { resource: changed, outcome: { status, reason, body: answer } }
  }

  async function recordChange(claim: Claim, resource: Resource | null, em: EntityManager): Promise<void> {
    if (!(await insert(claim, resource, em))) throw hadFirst()
  }

  /** A refusal is not stored if another server has made the change with this key. */
  async function recordOutcome(
    claim: Claim,
    { route, decision }: RequestContext,
    { status, reason, body }: Outcome,
    em: EntityManager
  ): Promise<void> {
    const hasChanged = decision !== null // the record is there
    if (!hasChanged && !(await insert(claim, null, em))) throw hadFirst()
    const isSecret = reason === null && route.secrets?.some(field => field in JSON.parse(body))
    await em.nativeUpdate(IdempotencyRecord, { id: claim.id }, { status, answer: isSecret ? null : body })
  }

  return { macOf, findEarlier, recordChange, recordOutcome }
}

function openRows(clock: HttpOptions['clock']) {
  const tooOld = (): number => earliest(clock) - retentionMs

  /** Returns the valid record: records of a deleted user with this name do not count. */
  async function recordOf(id: string, em: EntityManager) {
    const found = await em.findOne(IdempotencyRecord, { id, createdAt: { $gt: tooOld() } })
    const user = found && (await em.findOne(User, { id: found.principal }))
    return user && user.createdAt > found.createdAt ? null : found
  }

  /** Returns false if another server was first. Deletes expired records, and the oldest beyond the maximum. */
  async function insert({ id, principal, bodyMac }: Claim, resource: Resource | null, em: EntityManager) {
    const createdAt = await nextTime(principal, em)
    await em.nativeDelete(IdempotencyRecord, { principal, createdAt: { $lte: tooOld() } })
    const newestFirst = { createdAt: 'desc', id: 'desc' } as const
    const page = { orderBy: newestFirst, offset: maxPerPrincipal - 1, limit: maxPerPrincipal }
    const surplus = await em.find(IdempotencyRecord, { principal }, page)
    if (surplus.length > 0) await em.nativeDelete(IdempotencyRecord, { id: surplus.map(row => row.id) })
    const { kind: resourceKind, id: resourceId } = resource ?? { kind: '', id: '' }
    const row = { id, principal, bodyMac, resourceKind, resourceId, createdAt }
    if (await isInserted(row, em)) return true
    if (await recordOf(id, em)) return false
    await em.upsert(IdempotencyRecord, { ...row, status: null, answer: null })
    return true
  }

  /** Returns a time after all records of the principal and after its user's creation: server clocks differ and step. */
  async function nextTime(principal: string, em: EntityManager): Promise<number> {
    const newestFirst = { orderBy: { createdAt: 'desc' }, limit: 1 } as const
    const [[newest], user] = await Promise.all([
      em.find(IdempotencyRecord, { principal }, newestFirst),
      em.findOne(User, { id: principal })
    ])
    const now = clock.now()
    const next = Math.min((newest?.createdAt ?? 0) + 1, now + retentionMs) // a clock that was far ahead has no lasting effect
    return Math.max(now, next, user?.createdAt ?? 0)
  }

  return { recordOf, insert }
}

type Row = Omit<InferEntity<typeof IdempotencyRecord>, 'status' | 'answer'>

async function isInserted(row: Row, em: EntityManager): Promise<boolean> {
  const { id, principal, bodyMac, resourceKind, resourceId, createdAt } = row
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `insert into http_repeat (id, principal, body_mac, resource_kind, resource_id, created_at)
     values (?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
    [id, principal, bodyMac, resourceKind, resourceId, createdAt],
    'run'
  )
  return affectedRows > 0
}

/** Writes JSON with sorted keys, so that their order does not matter (see RFC 8785). Files of forms become base64. */
const canonical = (body: unknown): string => JSON.stringify(sorted(body))

/** Copies only objects, and lists that contain some: one native `stringify` is much cheaper than a replacer. */
function sorted(part: unknown): unknown {
  if (!isObject(part)) return part
  if (Array.isArray(part)) return part.some(isObject) ? part.map(sorted) : part
  if (ArrayBuffer.isView(part))
    return Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('base64')
  const members = Object.entries(part)
  if (members.length === 0) return part
  return Object.fromEntries(
    members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member)])
  )
}

const isObject = (part: unknown): part is object => typeof part === 'object' && part !== null

/** Returns the random MAC key of this store. Bodies may contain passwords, so only their MAC is stored. */
const readMacKey = (store: HttpOptions['store']): Promise<string> =>
  store.change(async em => {
    const name = 'repeat_key'
    const found = await em.findOne(StoreValue, { name })
    if (found) return found.value
    const value = newSecret()
    await em.insert(StoreValue, { name, value })
    return value
  })

const hadFirst = (): Fault =>
  new Fault(codes.idempotencyInProgress, 'another server had this key first; repeat the request')

const keyReused = (): Fault =>
  new Fault(codes.idempotencyKeyReused, 'this Idempotency-Key was used with another body before')

/** Returns the error for a change that was made if its response cannot be shown again. */
export const secretSpent = ({ kind, id }: Resource): Fault =>
  new Fault(codes.idempotencySecretSpent, `${kind} ${id} was changed with this key; no response is kept`, {
    details: { resource_kind: kind, resource_id: id }
  })
