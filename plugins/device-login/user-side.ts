// The side of the user, who has signed in: a review of the device that waits with a code, and the decision.
import type { EntityManager } from '@mikro-orm/sql'
import { latest, timestamp } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import { deviceRequestNotFound } from './codes.ts'
import { DeviceRequest } from './entities.ts'
import { presentAt, type RequestDeps } from './request-rows.ts'
import type { Reviewed } from './schema.ts'
import { openTryLimit } from './try-limit.ts'

const maxTries = 5 // unknown codes of a user within a minute
const tokenMs = 7 * 24 * 3_600_000

export interface UserSide {
  /** Throws `device_request_not_found`, or `rate_limited` after too many unknown codes. */
  review(userCode: string, call: Call): Promise<Reviewed>
  /** Issues the credential; the device fetches its token. Throws like `review`, `credential_too_broad` or `limit_reached`. */
  approve(userCode: string, call: Call): Promise<void>
  deny(userCode: string, call: Call): Promise<void>
}

export function openUserSide({ store, clock, tokenGrants }: RequestDeps): UserSide {
  const tries = openTryLimit(clock, maxTries)

  const findOpen = (userCode: string, em: EntityManager) => findRequest(userCode, latest(clock), em)

  const trying = <T>({ principal: { userId } }: Call, work: () => Promise<T>): Promise<T> =>
    tries.trying(userId, work)

  async function approve(userCode: string, { principal, change }: Call): Promise<void> {
    await change(
      (issued: string) => ({ kind: 'credential', id: issued }),
      async em => {
        const { id, label, scopes } = await findOpen(userCode, em)
        const grant = { label, scopes: scopesIn(scopes), mostMs: tokenMs }
        const credentialId = await tokenGrants.issue(em, principal, grant)
        const { userId } = principal
        await em.nativeUpdate(DeviceRequest, { id }, { decision: 'approved', userId, credentialId })
        return credentialId
      }
    )
  }

  async function deny(userCode: string, { change }: Call): Promise<void> {
    await change(
      (denied: string) => ({ kind: 'device_request', id: denied }),
      async em => {
        const { id } = await findOpen(userCode, em)
        await em.nativeUpdate(DeviceRequest, { id }, { decision: 'denied' })
        return id
      }
    )
  }

  return {
    async review(userCode, call) {
      const found = await trying(call, () => store.read(em => findOpen(userCode, em)))
      const { label, remoteAddr, scopes, expiresAt } = found
      return {
        label,
        remote_addr: remoteAddr,
        expires_at: timestamp(expiresAt),
        scopes: scopesIn(scopes)
      }
    },
    approve: (userCode, call) => trying(call, () => approve(userCode, call)),
    deny: (userCode, call) => trying(call, () => deny(userCode, call))
  }
}

/** Returns the request that waits for a decision with this code. */
async function findRequest(userCode: string, now: number, em: EntityManager): Promise<DeviceRequest> {
  const code = userCode.toUpperCase().replaceAll(/[\s-]/g, '')
  const request = await em.findOne(DeviceRequest, { userCode: code, decision: null, ...presentAt(now) })
  if (request) return request
  throw new Fault(
    deviceRequestNotFound,
    'no device waits with this code, which is valid for 10 minutes; check it'
  )
}

const scopesIn = (scopes: string | null | undefined): string[] | null => scopes?.split(' ') ?? null
