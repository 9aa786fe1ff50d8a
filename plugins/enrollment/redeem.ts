// What becomes of a code on the edge host: one agent gets it, and the same agent may ask again.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import type { ErrorCode } from '../../kernel/base/errors.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import type { Kernel, UnauthenticatedCall } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Endpoint } from '../advertised-endpoint/endpoint.ts'
import type { Clients } from '../clients/exports.ts'
import { Enrollment } from './entities.ts'
import {
  enrollmentExpired,
  enrollmentInvalid,
  enrollmentUsed,
  failedPrecondition,
  type Redeem,
  Redeemed,
  welcomePart
} from './wire.ts'

interface Deps extends Pick<Kernel, 'store' | 'clock' | 'codec' | 'log'> {
  readonly clients: Clients
  readonly endpoint: Endpoint
}

interface Outcome {
  readonly redeemed: Static<typeof Redeemed.body>
  /** 'repeated': the client has this very token already, and its session goes on. */
  readonly is: 'enrolled' | 're-enrolled' | 'repeated'
  /** Hash of the token in whose place the new one is. */
  readonly spent: string | null
}

export async function redeem(
  { peer, deps }: UnauthenticatedCall<Deps>,
  { code, token_hash: tokenHash }: Static<typeof Redeem.body>
): Promise<Static<typeof Redeemed.body>> {
  const { store, clients, log } = deps
  const { redeemed, is, spent } = await store.change(async em => {
    const row = judge(await em.findOne(Enrollment, { codeHash: hashOf(code) }), tokenHash, deps.clock.now())
    return row.usedAt ? repeat(row) : claim(deps, { row, tokenHash, em })
  })
  if (spent !== null) clients.endSession(redeemed.client_id, spent)
  const fields = { client_id: redeemed.client_id, client_name: redeemed.client_name }
  log.info('enrollment.redeemed', `an enrollment code was redeemed: ${is}`, {
    ...fields,
    remote_addr: peer.remoteAddr
  })
  return redeemed
}

/** For the Welcome of an agent whose bundle still waits for an answer: whose token it is. */
export async function introduce({ store, codec, clients, endpoint }: Deps, clientId: string) {
  return store.read(async em => {
    const redeemed = { clientId, usedAt: { $ne: null } }
    const last = await em.findOne(Enrollment, redeemed, { orderBy: { usedAt: 'desc' } })
    const serverEndpoint = last?.endpoint ?? (await endpoint.resolve(em)).effective
    if (!serverEndpoint) return {}
    const { name } = await clients.get(clientId, em)
    const answer = { client_id: clientId, client_name: name, server_endpoint: serverEndpoint }
    return { [welcomePart]: codec.encode(Redeemed, answer) }
  })
}

/** A code that this agent may have: unused and in time, or used by itself and still in time. */
function judge(row: Enrollment | null, tokenHash: string, now: number): Enrollment {
  if (row === null)
    return refuse(
      enrollmentInvalid,
      'the code is not known, was cancelled, or was replaced; ask for a new one'
    )
  if (row.usedAt && row.tokenHash !== tokenHash)
    return refuse(enrollmentUsed, 'the code was redeemed by another agent; ask for a new one')
  if (row.expiresAt <= now) return refuse(enrollmentExpired, 'the code has expired; ask for a new one')
  return row
}

interface Claim {
  readonly row: Enrollment
  readonly tokenHash: string
  readonly em: EntityManager
}

/** Of many at once, the one whose conditional update finds the code unused. */
async function claim({ clients, clock, endpoint }: Deps, { row, tokenHash, em }: Claim): Promise<Outcome> {
  const serverEndpoint = row.endpoint ?? (await currentEndpoint(endpoint, em))
  if (!(await clients.isTokenAvailable(tokenHash, row.clientId ?? null, em)))
    return refuse(enrollmentInvalid, 'the agent offers a token that was used before; start with a fresh one')
  const used = { usedAt: clock.now(), tokenHash, endpoint: serverEndpoint }
  if ((await em.nativeUpdate(Enrollment, { id: row.id, usedAt: null }, used)) === 0)
    return refuse(enrollmentUsed, 'the code was redeemed by another agent; ask for a new one')

  const client = row.clientId
    ? await clients.replaceToken(row.clientId, tokenHash, em)
    : await clients.enroll({ name: row.name, address: row.address, tokenHash }, em)
  await em.nativeUpdate(Enrollment, { id: row.id }, { clientId: client.id, name: client.name })
  const isNew = client.tokenHash !== tokenHash
  return {
    redeemed: { client_id: client.id, client_name: client.name, server_endpoint: serverEndpoint },
    is: isNew ? 're-enrolled' : row.clientId ? 'repeated' : 'enrolled',
    spent: (isNew && client.tokenHash) || null
  }
}

/** Word for word the first answer; what has happened to the client since is not undone. */
function repeat({ clientId, name, endpoint }: Enrollment): Outcome {
  if (!clientId || !endpoint) throw new TypeError('a used code names its client and its endpoint')
  return {
    redeemed: { client_id: clientId, client_name: name, server_endpoint: endpoint },
    is: 'repeated',
    spent: null
  }
}

async function currentEndpoint(endpoint: Endpoint, em: EntityManager): Promise<string> {
  const { effective, fault } = await endpoint.resolve(em)
  return fault
    ? refuse(failedPrecondition, `the server has no endpoint for its agents: ${fault.message}`)
    : effective
}

function refuse({ code }: ErrorCode, message: string): never {
  throw new Refused(code, message)
}
