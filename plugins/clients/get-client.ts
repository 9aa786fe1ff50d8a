import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, Fault } from '../../kernel/base/errors.ts'
import { Client } from '../../kernel/identity/entities.ts'

/** Throws `client_not_found`. */
export async function getClient(id: string, em: EntityManager): Promise<Client> {
  return (await em.findOne(Client, { id })) ?? refuseUnknown()
}

/** Throws the same error for a malformed or unknown id, and for a client that the caller must not see. */
export function refuseUnknown(): never {
  throw new Fault(clientNotFound, 'no client has this client_id')
}
