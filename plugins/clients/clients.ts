import type { EntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../kernel/base/clock.ts'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client, ManagedObjectRow, SpentToken } from '../../kernel/identity/entities.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import { type PagedRows, recordFields } from '../http/exports.ts'
import { approveAdmission, countByKey, insertAdmission, pendingFaults } from './admissions.ts'
import { openFilters, openReads } from './client-queries.ts'
import { type ClientRow, fieldsIn, toClientRow } from './client-row.ts'
import { Admission, InstanceConflictRow } from './entities.ts'
import { type Clients, changedSlot, removingSlot, revokingSlot } from './exports.ts'
import { freeName } from './free-name.ts'
import { getClient } from './get-client.ts'
import { normalizeAddress, normalizeName } from './name-and-address.ts'

export const clientNotRevoked = defineCode('client_not_revoked', 409, 5)

/** The service `clients`, with more methods for the routes. */
export interface ClientAdministration extends Clients {
  /** Lists the clients that the user may see. */
  list(query: Values, principal: Principal): PagedRows<ClientRow>
  /** Sets the name, the address and the fields of other plugins. The control stream stays open. */
  update(id: string, part: ClientPart, em: EntityManager): Promise<ClientRow>
  /** Throws `client_not_pending`. */
  approve(id: string, em: EntityManager): Promise<ClientRow>
  /** Returns the hash of the revoked token; call `endSession` with it after the commit. */
  revoke(id: string, em: EntityManager): Promise<string | null>
  /** Throws `client_not_revoked` for a client that is not revoked. */
  remove(id: string, em: EntityManager): Promise<void>
}

export function openClients(kernel: Kernel): ClientAdministration {
  const { clock, control, filled } = kernel
  const rowServices = { peers: control.peers, clock, filled }
  return {
    ...openReads(kernel),
    ...openFilters(kernel),
    ...openTokens(kernel),
    get: getClient,
    normalizeName,
    normalizeAddress,
    freeName,
    pendingFaults,
    countByKey,

    async approve(id, em) {
      const client = await getClient(id, em)
      await approveAdmission(client, em)
      await notifyChanged(client, filled, em)
      return toClientRow(client, rowServices, em)
    },

    async update(id, { fields = {}, ...part }, em) {
      const client = await getClient(id, em)
      if (Object.keys(part).length > 0) await em.nativeUpdate(Client, { id }, part)
      await recordFields.patch(fieldsIn(filled), id, { body: fields, em })
      await notifyChanged(client, filled, em)
      return toClientRow({ ...client, ...part }, rowServices, em)
    },

    async revoke(id, em) {
      const client = await getClient(id, em)
      await recordSpentToken(client, clock, em)
      const revokedAt = client.revokedAt ?? clock.now()
      await em.nativeUpdate(Client, { id }, { tokenHash: null, revokedAt })
      noteToken(em, client, { tokenHash: null, revokedAt, now: clock.now() })
      for (const { value: onRevoke } of filled(revokingSlot)) await onRevoke(client, em)
      return client.tokenHash ?? null
    },

    async remove(id, em) {
      const client = await getClient(id, em)
      if (!client.revokedAt) throw new Fault(clientNotRevoked, `client ${id} is not revoked; revoke it first`)
      for (const { value: onRemove } of filled(removingSlot)) await onRemove(client, em)
      await recordFields.remove(fieldsIn(filled), [id], em)
      await em.nativeDelete(ManagedObjectRow, { clientId: id })
      await em.nativeDelete(InstanceConflictRow, { clientId: id })
      await em.nativeDelete(Admission, { clientId: id })
      await em.nativeDelete(Client, { id })
    }
  }
}

/** Records the token of an agent, which ends now. Its later use is answered with `token_revoked`. */
async function recordSpentToken({ id, tokenHash }: Client, clock: Clock, em: EntityManager): Promise<void> {
  if (tokenHash) await em.upsert(SpentToken, { hash: tokenHash, clientId: id, spentAt: clock.now() })
}

type Values = Readonly<Record<string, unknown>>

interface ClientPart {
  readonly name?: string
  readonly address?: string | null
  readonly fields?: Values // of other plugins, as in the body of PATCH
}

async function notifyChanged(
  client: Pick<Client, 'id'>,
  filled: SlotReader,
  em: EntityManager
): Promise<void> {
  for (const { value: onChange } of filled(changedSlot)) await onChange(client, em)
}

type Tokens = Pick<Clients, 'enroll' | 'findByToken' | 'isTokenAvailable' | 'replaceToken' | 'endSession'>

function openTokens({ clock, control, filled }: Kernel): Tokens {
  return {
    async enroll({ fields: values, admission = null, ...client }, em) {
      const id = newId(clock.now())
      await em.insert(Client, { ...client, id, revision: 0, enrolledAt: clock.now() })
      if (admission) await insertAdmission(id, admission, clock.now(), em)
      await recordFields.save(fieldsIn(filled), id, { values, em })
      await notifyChanged({ id }, filled, em)
      return getClient(id, em)
    },

    findByToken: (tokenHash, em) => em.findOne(Client, { tokenHash }),

    async isTokenAvailable(tokenHash, clientId, em) {
      const holder = await em.findOne(Client, { tokenHash })
      return (
        (holder === null || holder.id === clientId) && (await em.count(SpentToken, { hash: tokenHash })) === 0
      )
    },

    async replaceToken(id, tokenHash, em) {
      const client = await getClient(id, em)
      if (client.tokenHash !== tokenHash) await recordSpentToken(client, clock, em)
      await em.nativeUpdate(Client, { id }, { tokenHash, revokedAt: null })
      noteToken(em, client, { tokenHash, revokedAt: null, now: clock.now() })
      return client
    },

    endSession(id, tokenHash) {
      const peer = control.peers.find(id)
      if (peer?.tokenHash === tokenHash) peer.end('token_revoked')
    }
  }
}

const insertSpent =
  'insert into kernel_spent_token (hash, client_id, spent_at) values (?, ?, ?) on conflict do nothing'

/** The token of a client after a change. */
interface Token {
  readonly tokenHash: string | null // null: none
  readonly revokedAt: number | null
  readonly now: number
}

/** Records the change, so that a failover to a standby that was behind repeats it. */
function noteToken(
  em: EntityManager,
  { id, tokenHash: spent }: Client,
  { tokenHash, revokedAt, now }: Token
): void {
  if (spent && spent !== tokenHash) noteRevoked(em, insertSpent, [spent, id, now])
  noteRevoked(em, 'update kernel_client set token_hash = ?, revoked_at = ? where id = ?', [
    tokenHash,
    revokedAt,
    id
  ])
}
