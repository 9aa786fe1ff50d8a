// Idempotency-Key: a retry gets the first response, also after a crash, and never repeats the change.
import { Fault } from '../../kernel/base/errors.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import * as codes from './codes.ts'
import { keyReused, openIdempotencyStore } from './idempotency-store.ts'
import type { HttpOptions } from './options.ts'
import { type Claim, isRead, type RequestContext } from './request-context.ts'

export type Idempotency = ReturnType<typeof openIdempotency>

export function openIdempotency(options: Pick<HttpOptions, 'store' | 'clock'>) {
  const { macOf, findEarlier, recordChange, recordOutcome } = openIdempotencyStore(options)
  const running = new Map<string, string>() // claim id to MAC of the body

  /** Returns null where keys have no effect: reads, unauthenticated callers, and the auth routes. */
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

  return { claim, release: ({ id }: Claim) => running.delete(id), recordChange, recordOutcome }
}
