// Agents redeem one-time codes, and enrollment keys (redeem-key.ts). Exactly one agent gets the client, and it may repeat its request.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import * as wire from '../../agent/wire/enrollment.ts'
import { latest } from '../../kernel/base/clock.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import type { Kernel, UnauthenticatedCall } from '../../kernel/plugin.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'
import type { Clients } from '../clients/exports.ts'
import type { Act } from '../http/exports.ts'
import { Enrollment } from './entities.ts'
import { redeemKey } from './redeem-key.ts'
import { refuse, refuseUnknown, refuseUsedToken, requireEndpoint } from './refuse-redeem.ts'

interface Deps extends Pick<Kernel, 'store' | 'clock' | 'codec' | 'log'> {
  readonly act: Act
  readonly clients: Clients
  readonly endpoint: Endpoint
}

interface Outcome {
  readonly redeemed: Static<typeof wire.Redeemed.body>
  /** 'repeated': the client has this token already, and its session continues. */
  readonly result: 'enrolled' | 're-enrolled' | 'repeated'
  /** Hash of the token that was replaced. */
  readonly replacedTokenHash: string | null
}

export async function redeem(
  { peer, deps }: UnauthenticatedCall<Deps>,
  request: Static<typeof wire.Redeem.body>
): Promise<Static<typeof wire.Redeemed.body>> {
  const { store, clients, log } = deps
  const { code, token_hash: tokenHash } = request
  if (code.startsWith(wire.enrollmentKeyPrefix))
    return redeemKey(deps, { ...request, remoteAddr: peer.remoteAddr })
  const { redeemed, result, replacedTokenHash } = await store.change(async em => {
    const found = await em.findOne(Enrollment, { codeHash: hashOf(code) })
    const row = requireRedeemable(found, tokenHash, latest(deps.clock))
    return row.usedAt ? repeat(row) : claim(deps, { row, tokenHash, em })
  })
  if (replacedTokenHash !== null) clients.endSession(redeemed.client_id, replacedTokenHash)
  const { client_id, client_name } = redeemed
  const fields = { client_id, client_name, remote_addr: peer.remoteAddr }
  log.info('enrollment.redeemed', `an enrollment code was redeemed: ${result}`, fields)
  return redeemed
}

/** Returns the part of Welcome that completes the bundle of an agent that missed the response to its redeem. */
export async function welcomeParts({ store, codec, clients, endpoint }: Deps, clientId: string) {
  return store.read(async em => {
    const used = { clientId, usedAt: { $ne: null } }
    const last = await em.findOne(Enrollment, used, { orderBy: { usedAt: 'desc' } })
    const serverEndpoint = last?.endpoint ?? (await endpoint.resolve(em)).effective
    if (!serverEndpoint) return {}
    const { name } = await clients.get(clientId, em)
    const redeemed = { client_id: clientId, client_name: name, server_endpoint: serverEndpoint }
    return { [wire.welcomePart]: codec.encode(wire.Redeemed, redeemed) }
  })
}

/** Throws Refused unless the code is valid, and unused or used by this agent. */
function requireRedeemable(row: Enrollment | null, tokenHash: string, now: number): Enrollment {
  if (row === null) return refuseUnknown()
  if (row.usedAt && row.tokenHash !== tokenHash)
    return refuse(wire.enrollmentUsed, 'the code was redeemed by another agent; ask for a new one')
  if (row.expiresAt <= now) return refuse(wire.enrollmentExpired, 'the code has expired; ask for a new one')
  return row
}

interface Claim {
  readonly row: Enrollment
  readonly tokenHash: string
  readonly em: EntityManager
}

/** Only one of several concurrent agents succeeds: the conditional update finds the code unused once. */
async function claim({ clients, clock, endpoint }: Deps, { row, tokenHash, em }: Claim): Promise<Outcome> {
  const serverEndpoint = row.endpoint ?? (await requireEndpoint(endpoint, em))
  if (!(await clients.isTokenAvailable(tokenHash, row.clientId ?? null, em))) return refuseUsedToken()
  const used = { usedAt: clock.now(), tokenHash, endpoint: serverEndpoint }
  if ((await em.nativeUpdate(Enrollment, { id: row.id, usedAt: null }, used)) === 0)
    return refuse(wire.enrollmentUsed, 'the code was redeemed by another agent; ask for a new one')

  const client = row.clientId
    ? await clients.replaceToken(row.clientId, tokenHash, em)
    : await clients.enroll({ name: row.name, address: row.address, fields: row.fields ?? {}, tokenHash }, em)
  await em.nativeUpdate(Enrollment, { id: row.id }, { clientId: client.id, name: client.name })
  const isNew = client.tokenHash !== tokenHash
  return {
    redeemed: { client_id: client.id, client_name: client.name, server_endpoint: serverEndpoint },
    result: isNew ? 're-enrolled' : row.clientId ? 'repeated' : 'enrolled',
    replacedTokenHash: (isNew && client.tokenHash) || null
  }
}

/** Returns the first response again. It does not undo later changes of the client, such as a revocation. */
function repeat({ clientId, name, endpoint }: Enrollment): Outcome {
  if (!clientId || !endpoint) throw new TypeError('a used code has a client and an endpoint')
  return {
    redeemed: { client_id: clientId, client_name: name, server_endpoint: endpoint },
    result: 'repeated',
    replacedTokenHash: null
  }
}
