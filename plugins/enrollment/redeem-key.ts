// Agents redeem enrollment keys. An agent that repeats its request gets the same client, and uses up the key once.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import * as wire from '../../agent/wire/enrollment.ts'
import { latest } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import type { FieldChange } from '../../kernel/http/route.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'
import type { Clients } from '../clients/exports.ts'
import { type Act, resourceChanged } from '../http/exports.ts'
import { isOver } from './enrollment-keys.ts'
import { EnrollmentKey } from './entities.ts'
import { refuse, refuseUnknown, refuseUsedToken, requireEndpoint } from './refuse-redeem.ts'

/** Clients of a key without a number of uses, and pending clients of any key: a leaked key does not fill the store. */
export const keyBounds = { clients: 10_000, pending: 1000 }

interface Deps extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly act: Act
  readonly clients: Clients
  readonly endpoint: Endpoint
}

export interface KeyRequest extends Static<typeof wire.Redeem.body> {
  readonly remoteAddr: string
}

type Redeemed = Static<typeof wire.Redeemed.body>

/** Judges without a change first, so that a flood of refused requests writes nothing. */
export async function redeemKey(deps: Deps, request: KeyRequest): Promise<Redeemed> {
  const { store, act, log } = deps
  const read = () => store.read(em => judge(deps, request, em))
  const judged = await read()
  if ('redeemed' in judged) return judged.redeemed
  try {
    const { client, key, serverEndpoint } = await act('_enrollment', 'client.enroll', ({ change }) =>
      change(
        ({ client: { id, name }, key }: Claimed) => ({
          kind: 'client',
          id,
          changes: () => shownChanges(name, key, request.remoteAddr)
        }),
        em => claim(deps, request, em)
      )
    )
    log.info('enrollment.redeemed', 'an enrollment key was redeemed: enrolled', {
      client_id: client.id,
      client_name: client.name,
      remote_addr: request.remoteAddr,
      key_id: key.id,
      key_label: key.label
    })
    return toRedeemed(client, serverEndpoint)
  } catch (error) {
    if (!(error instanceof Fault) || error.errorCode !== resourceChanged) throw error
    const judged = await read() // another request was faster: of this agent, or with the last use
    return 'redeemed' in judged ? judged.redeemed : refuse(wire.failedPrecondition, 'try again')
  }
}

const toRedeemed = ({ id, name }: Client, serverEndpoint: string): Redeemed => ({
  client_id: id,
  client_name: name,
  server_endpoint: serverEndpoint
})

type Judged =
  | { readonly redeemed: Redeemed }
  | { readonly key: EnrollmentKey; readonly serverEndpoint: string }

/** Throws Refused unless the key admits this agent, or the agent is a client already. */
async function judge(
  { clients, clock, endpoint }: Deps,
  { code, token_hash: tokenHash }: KeyRequest,
  em: EntityManager
): Promise<Judged> {
  const key = await em.findOne(EnrollmentKey, { keyHash: hashOf(code) })
  const over = key && isOver(key, latest(clock))
  if (!key || over === 'expired') return refuseUnknown()
  const isAvailable = await clients.isTokenAvailable(tokenHash, null, em)
  const holder = await clients.findByToken(tokenHash, em) // last: the same request may have been made at another server
  const serverEndpoint = await requireEndpoint(endpoint, em)
  if (holder) return { redeemed: toRedeemed(holder, serverEndpoint) }
  if (over === 'spent') return refuseUnknown()
  if (!isAvailable) return refuseUsedToken()
  const { total = 0, pending = 0 } = (await clients.countByKey([key.id], em)).get(key.id) ?? {}
  if (key.maxUses == null && total >= keyBounds.clients)
    return refuseFull(`has ${total} clients already; delete some, or create another key`)
  if (key.isApprovalNeeded && pending >= keyBounds.pending)
    return refuseFull(`has ${pending} clients that wait for an approval; approve or delete some`)
  return { key, serverEndpoint }
}

const refuseFull = (problem: string): never =>
  refuse(wire.failedPrecondition, `the enrollment key ${problem}`)

interface Claimed {
  readonly client: Client
  readonly key: EnrollmentKey
  readonly serverEndpoint: string
}

/** Uses the key and creates the client. Throws `resource_changed` if another request was faster. */
async function claim(deps: Deps, request: KeyRequest, em: EntityManager): Promise<Claimed> {
  const judged = await judge(deps, request, em).catch(asChanged)
  if ('redeemed' in judged) throw new Fault(resourceChanged, 'the agent has enrolled at the same time')
  const { key, serverEndpoint } = judged
  const { clients } = deps
  await em.nativeUpdate(EnrollmentKey, { id: key.id }, { used: key.used + 1 })
  const name = await clients.freeName(request.host_name ?? '', em)
  const client = await clients.enroll(
    {
      name,
      address: key.isAddressAuto ? seenAddress(clients, request.remoteAddr) : null,
      tokenHash: request.token_hash,
      fields: key.fields ?? {},
      admission: { keyId: key.id, isPending: key.isApprovalNeeded, ephemeralSecs: key.ephemeralSecs ?? null }
    },
    em
  )
  return { client, key, serverEndpoint }
}

/** Converts a refusal after the first judgment, so that the audit log does not show it as a failure of the server. */
function asChanged(error: unknown): never {
  if (error instanceof Refused) throw new Fault(resourceChanged, error.message, { cause: error })
  throw error
}

/** Returns null for an address that no caller can use, such as a link-local one with a zone. */
function seenAddress(clients: Clients, remoteAddr: string): string | null {
  try {
    return clients.normalizeAddress(remoteAddr)
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

const shownChanges = (name: string, { id, label }: EnrollmentKey, remoteAddr: string): FieldChange[] => [
  { field: 'client_name', from: null, to: name },
  { field: 'enrollment_key', from: null, to: { key_id: id, label } },
  { field: 'remote_addr', from: null, to: remoteAddr }
]
