// The side of the device: it asks for codes, and polls until a user has decided.
import { randomInt } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { latest, timestamp } from '../../kernel/base/clock.ts'
import { Fault, internal, rateLimited } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { networkOf } from '../../kernel/platform/network.ts'
import { refuseLongLabel } from '../credentials/exports.ts'
import { accessDenied, authorizationPending, expiredToken, slowDown } from './codes.ts'
import { DeviceRequest } from './entities.ts'
import { intervalSecs, openPollLimit, type PollLimit } from './poll-limit.ts'
import { presentAt, type RequestDeps, requestSecs, unapprovedAt } from './request-rows.ts'
import type { DeviceToken, StartBody, Started } from './schema.ts'
import { openTryLimit } from './try-limit.ts'

const maxOpen = 1_000
const maxPerNetwork = 64 // a company can be behind one address
const maxTries = 100 // unknown device codes of a network within a minute; its 64 devices may poll at once
const letters = 'BCDFGHJKLMNPQRSTVWXZ' // without vowels, digits and Y: no words, and nothing to confuse
const codeLength = 8

export interface DeviceSide {
  /** Throws `validation.scopes`, or `rate_limited` if too many requests are open, of all or of the caller's network. */
  start(body: StartBody, call: Call): Promise<Started>
  /**
   * Returns the token once. Throws `authorization_pending`, `slow_down`, `access_denied` or `expired_token`; or
   * `rate_limited` after too many unknown codes of the caller's network.
   */
  poll(deviceCode: string, call: Call): Promise<DeviceToken>
}

export function openDeviceSide(deps: RequestDeps): DeviceSide {
  const polls = openPollLimit(deps.clock)
  const tries = openTryLimit(deps.clock, maxTries)
  return {
    start: (body, call) => start(deps, body, call),
    poll: (deviceCode, call) =>
      counted(deps, () => tries.trying(networkIn(call), () => poll({ ...deps, polls }, deviceCode, call)))
  }
}

async function start(
  { clock, tokenGrants }: RequestDeps,
  { label, scopes = null }: StartBody,
  call: Call
): Promise<Started> {
  const { remoteAddr, ownOrigin } = call.requestInfo
  refuseLongLabel(label)
  const asked = tokenGrants.parseScopes(scopes)
  const deviceCode = newSecret()
  const userCode = newUserCode()
  const id = newId()
  const network = networkIn(call)
  await call.change({ kind: 'device_request', id }, async em => {
    await requireRoom(network, latest(clock), em)
    await em.insert(DeviceRequest, {
      id,
      deviceHash: hashOf(deviceCode),
      userCode,
      label,
      scopes: asked?.join(' ') ?? null,
      remoteAddr,
      network,
      expiresAt: latest(clock) + requestSecs * 1000,
      decision: null,
      userId: null,
      credentialId: null
    })
  })
  const shown = `${userCode.slice(0, 4)}-${userCode.slice(4)}`
  const page = `${ownOrigin}/device`
  return {
    device_code: deviceCode,
    user_code: shown,
    verification_uri: page,
    verification_uri_complete: `${page}?code=${shown}`,
    expires_in: requestSecs,
    interval: intervalSecs
  }
}

async function requireRoom(network: string, now: number, em: EntityManager): Promise<void> {
  await em.nativeDelete(DeviceRequest, unapprovedAt(now))
  const [all, own] = await Promise.all([em.count(DeviceRequest), em.count(DeviceRequest, { network })])
  if (all >= maxOpen || own >= maxPerNetwork)
    throw new Fault(rateLimited, 'too many devices wait for a decision; try again in 10 minutes', {
      details: { retry_after_secs: requestSecs }
    })
}

interface PollDeps extends RequestDeps {
  readonly polls: PollLimit
}

async function poll(
  { store, clock, tokenGrants, polls }: PollDeps,
  deviceCode: string,
  { change }: Call
): Promise<DeviceToken> {
  const where = { deviceHash: hashOf(deviceCode), ...presentAt(latest(clock)) }
  const request = await store.read(em => em.findOne(DeviceRequest, where))
  if (!request) throw expiredCode()
  const { id, decision, label, userId = null, credentialId = null } = request
  polls.take(id) // slow_down
  if (decision === 'denied') throw new Fault(accessDenied, 'the user has denied the device')
  if (userId === null || credentialId === null)
    throw new Fault(
      authorizationPending,
      'nobody has approved the device yet; open the page, and enter the code'
    )
  const granted = await change({ kind: 'credential', id: credentialId }, async em => {
    const isFirst = (await em.nativeDelete(DeviceRequest, { id, ...presentAt(latest(clock)) })) === 1
    const made = isFirst ? await tokenGrants.handOver(em, credentialId) : null
    if (!made) throw expiredCode() // another poll has the token, or the user has revoked or rotated it
    return made
  })
  return {
    credential_id: credentialId,
    user_id: userId,
    token: granted.token,
    label,
    created_at: timestamp(granted.createdAt),
    expires_at: timestamp(granted.expiresAt),
    scopes: granted.scopes && [...granted.scopes]
  }
}

/** Counts a poll that decides the sign-in of the device. */
async function counted({ signIn }: RequestDeps, work: () => Promise<DeviceToken>): Promise<DeviceToken> {
  try {
    const token = await work()
    signIn.count('device', 'ok')
    return token
  } catch (error) {
    const { errorCode } = error instanceof Fault ? error : { errorCode: internal }
    if (errorCode !== authorizationPending && errorCode !== slowDown) signIn.count('device', errorCode)
    throw error
  }
}

const networkIn = ({ requestInfo }: Call): string => networkOf(requestInfo.remoteAddr).slice(0, 64)

const newUserCode = (): string =>
  Array.from({ length: codeLength }, () => letters[randomInt(letters.length)]).join('')

const expiredCode = (): Fault =>
  new Fault(expiredToken, 'the device code is unknown, used or older than 10 minutes; start again')
