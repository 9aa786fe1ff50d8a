import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Grant } from './entities.ts'
import type { GrantRow } from './schema.ts'

export async function shown(grant: Grant, em: EntityManager): Promise<GrantRow> {
  const [row] = await rowsOf([grant], em)
  if (!row) throw new TypeError(`grant ${grant.id} has no row`)
  return row
}

export async function rowsOf(grants: readonly Grant[], em: EntityManager): Promise<GrantRow[]> {
  const ids = [...new Set(grants.flatMap(({ clientId }) => clientId ?? []))]
  const clients = await em.find(Client, { id: { $in: ids } }, { fields: ['name'] })
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return grants.map(({ id, userId, clientId, portFrom, portTo, protocols, targets, note, createdAt }) => ({
    grant_id: id,
    user_id: userId,
    client_id: clientId ?? '*',
    client_name: names.get(clientId ?? '') ?? null,
    listen_port_start: portFrom,
    listen_port_end: portTo,
    protocols: [...protocols],
    targets: targets ? [...targets] : null,
    note: note ?? null,
    created_at: timestamp(createdAt)
  }))
}
