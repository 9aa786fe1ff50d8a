// Idempotency-Key: a repeated request gets the first answer, also after a crash, and never does its work twice.
import { createHmac } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import type { Resource } from '../../kernel/http/route.ts'
import { StoreValue, User } from '../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { Repeat } from './entities.ts'
import type { ErrorBody } from './envelope.ts'
import * as rows from './errors.ts'
import type { HttpOptions } from './http.ts'
import { isRead, type Outcome, type RequestContext } from './request-context.ts'

const keptMs = 24 * 3_600_000
const maxKept = 1000 // a principal

/** A request holds its key from the look-up to its end. */
export interface Claim {
  readonly id: string
  readonly principal: string
  readonly bodyMac: string
  /** What an earlier request with this key has done. Without an answer: changed, and no more is known. */
  readonly past: { readonly resource: Resource; readonly answer: Outcome | null } | null
}

export type Idempotency = ReturnType<typeof openIdempotency>

export function openIdempotency({ store, clock }: Pick<HttpOptions, 'store' | 'clock'>) {
  const running = new Map<string, string>() // id to bodyMac
  let macKey: Promise<string> | null = null

  /** Null where keys do not count. */
  async function claim(turn: RequestContext, key: string, body: unknown): Promise<Claim | null> {
    const { requestInfo, principal } = turn
    if (isRead(turn) || principal.method === 'none' || requestInfo.path.startsWith('/v1/auth/')) return null
    if (!/^[A-Za-z0-9._-]{1,128}$/.test(key))
      throw new Fault(rows.invalidKey, 'Idempotency-Key must be 1 to 128 characters of A-Z a-z 0-9 . _ -')
    const id = hashOf([principal.userId, requestInfo.method, requestInfo.path, key].join('\n'))
    macKey ??= readMacKey(store)
    const bodyMac = createHmac('sha256', await macKey)
      .update(JSON.stringify(body))
      .digest('hex')
    const other = running.get(id)
    if (other === bodyMac)
      throw new Fault(rows.idempotencyInProgress, 'the first request with this key still runs')
    if (other !== undefined) throw reused()
    running.set(id, bodyMac)
    try {
      return { id, principal: principal.userId, bodyMac, past: await pastOf(id, bodyMac) }
    } catch (error) {
      running.delete(id)
      throw error
    }
  }

  async function pastOf(id: string, bodyMac: string): Promise<Claim['past']> {
    const createdAt = { $gt: clock.now() - keptMs }
    const row = await store.read(async em => {
      const found = await em.findOne(Repeat, { id, createdAt })
      const user = found && (await em.findOne(User, { id: found.principal }))
      return user && user.createdAt > found.createdAt ? null : found // a later user of that name inherits nothing
    })
    if (!row) return null
    if (row.bodyMac !== bodyMac) throw reused()
    const { status = null, answer = null } = row
    const resource = { kind: row.resourceKind, id: row.resourceId }
    if (status === null) return { resource, answer: null }
    if (answer === null) throw spent(resource)
    const reason = status < 400 ? null : (JSON.parse(answer) as Static<typeof ErrorBody>).error.code // we wrote it
    return { resource, answer: { status, reason, answer } }
  }

  /** In the transaction of the change: this key has done its work. */
  async function note({ id, principal, bodyMac }: Claim, resource: Resource | null, em: EntityManager) {
    const createdAt = clock.now()
    await em.nativeDelete(Repeat, { principal, createdAt: { $lte: createdAt - keptMs } })
    const newestFirst = { createdAt: 'desc', id: 'desc' } as const
    const page = { orderBy: newestFirst, offset: maxKept - 1, limit: maxKept }
    const surplus = await em.find(Repeat, { principal }, page)
    if (surplus.length > 0) await em.nativeDelete(Repeat, { id: surplus.map(row => row.id) })
    const { kind: resourceKind, id: resourceId } = resource ?? { kind: '', id: '' }
    await em.upsert(Repeat, { id, principal, bodyMac, resourceKind, resourceId, createdAt })
  }

  /** The answer, unless it holds a secret. */
  async function keep(
    claim: Claim,
    { route, resource }: RequestContext,
    outcome: Outcome,
    em: EntityManager
  ) {
    const { status, reason, answer } = outcome
    if (!resource) await note(claim, null, em)
    const isSecret = route.reply === 'secret' && reason === null
    await em.nativeUpdate(Repeat, { id: claim.id }, { status, answer: isSecret ? null : answer })
  }

  return { claim, note, keep, release: ({ id }: Claim) => running.delete(id) }
}

/** Bodies hold passwords: they are compared under a key of the store's own. */
const readMacKey = (store: HttpOptions['store']): Promise<string> =>
  store.change(async em => {
    const name = 'repeat_key'
    const found = await em.findOne(StoreValue, { name })
    if (found) return found.value
    const value = newSecret()
    await em.insert(StoreValue, { name, value })
    return value
  })

const reused = () =>
  new Fault(rows.idempotencyKeyReused, 'this Idempotency-Key came with another body before')

/** The work is done; its answer cannot be shown again. */
export const spent = ({ kind, id }: Resource): Fault =>
  new Fault(rows.idempotencySecretSpent, `${kind} ${id} was changed with this key; its answer is not kept`, {
    details: { resource_kind: kind, resource_id: id }
  })
