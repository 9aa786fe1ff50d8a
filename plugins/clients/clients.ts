import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import { Client, ManagedObjectRow, SpentToken } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Clients, removingSlot, revokingSlot } from './exports.ts'
import { normalizeAddress, normalizeName } from './name-and-address.ts'
import { getClient, openReading } from './reading.ts'
import { type ClientRow, clientRowOf } from './row.ts'

export const clientNotRevoked = defineCode('client_not_revoked', 409, 5)

/** What the routes use beside the exported service. */
export interface ClientAdministration extends Clients, ReturnType<typeof openReading> {
  /** Sets the name or the address. The control stream of the client stays open. */
  update(
    id: string,
    part: { name: string } | { address: string | null },
    em: EntityManager
  ): Promise<ClientRow>
  /** Returns the hash of the revoked token; call `endSession` with it after the commit. */
  revoke(id: string, em: EntityManager): Promise<string | null>
  remove(id: string, em: EntityManager): Promise<void>
}

export function openClients(kernel: Kernel): ClientAdministration {
  const { clock, identity, control, filled } = kernel
  return {
    ...openReading(kernel),
    ...openTokens(kernel),
    get: getClient,
    normalizeName,
    normalizeAddress,

    async update(id, part, em) {
      await em.nativeUpdate(Client, { id }, part)
      return clientRowOf(await getClient(id, em), control.peers)
    },

    async revoke(id, em) {
      const client = await getClient(id, em)
      if (client.tokenHash) await identity.recordSpentToken(em, id, client.tokenHash)
      const revokedAt = client.revokedAt ?? clock.now()
      await em.nativeUpdate(Client, { id }, { tokenHash: null, revokedAt })
      for (const { value: onRevoke } of filled(revokingSlot)) await onRevoke(client, em)
      return client.tokenHash ?? null
    },

    async remove(id, em) {
      const client = await getClient(id, em)
      if (!client.revokedAt)
        throw new Fault(clientNotRevoked, `client ${id} is not revoked; revoke it before you delete it`)
      for (const { value: onRemove } of filled(removingSlot)) await onRemove(client, em)
      await em.nativeDelete(ManagedObjectRow, { clientId: id })
      await em.nativeDelete(Client, { id })
    }
  }
}

type Tokens = Pick<Clients, 'enroll' | 'isTokenAvailable' | 'replaceToken' | 'endSession'>

function openTokens({ clock, identity, control }: Kernel): Tokens {
  return {
    async enroll(client, em) {
      const id = newId(clock.now())
      await em.insert(Client, { ...client, id, revision: 0, enrolledAt: clock.now() })
      return getClient(id, em)
    },

    async isTokenAvailable(tokenHash, clientId, em) {
      const user = await em.findOne(Client, { tokenHash })
      return (
        (user === null || user.id === clientId) && (await em.count(SpentToken, { hash: tokenHash })) === 0
      )
    },

    async replaceToken(id, tokenHash, em) {
      const client = await getClient(id, em)
      if (client.tokenHash && client.tokenHash !== tokenHash)
        await identity.recordSpentToken(em, id, client.tokenHash)
      await em.nativeUpdate(Client, { id }, { tokenHash, revokedAt: null })
      return client
    },

    endSession(id, tokenHash) {
      const peer = control.peers.find(id)
      if (peer?.tokenHash === tokenHash) peer.end('token_revoked')
    }
  }
}
