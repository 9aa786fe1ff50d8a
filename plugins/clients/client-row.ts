import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import { type Clock, timestamp, timestampOrNull } from '../../kernel/base/clock.ts'
import type { Peers } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { ClientId, closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { recordFieldSlots, recordFields } from '../http/exports.ts'
import { loadAdmissions } from './admissions.ts'
import type { Admission } from './entities.ts'
import { InstanceConflictShown, loadConflicts } from './instance-conflicts.ts'

const Row = Type.Object({
  client_id: Type.String({ ...ClientId, description: 'ULID; never changes.' }),
  client_name: Type.String({ description: 'Two clients may have the same name.', examples: ['paris'] }),
  address: orNull(
    Type.String({ description: 'Public host of the forwarded ports.', examples: ['paris.example.net'] })
  ),
  state: Type.Union(
    [
      Type.Literal('connected'),
      Type.Literal('disconnected'),
      Type.Literal('pending'),
      Type.Literal('revoked')
    ],
    {
      description:
        'connected: its agent has a control stream. pending: an operator must approve the client before it can have rules; its agent can connect. revoked: its agent must not connect.'
    }
  ),
  connected: Type.Boolean({ description: 'Its agent has a control stream.' }),
  remote_addr: orNull(
    Type.String({ description: 'Remote address of its agent.', examples: ['198.51.100.7'] })
  ),
  connected_at: orNull(timeOf('Start of the connection of its agent.')),
  last_seen_at: orNull(timeOf('When its agent was last connected.')),
  agent_version: orNull(Type.String({ description: 'Last seen version of its agent.', examples: ['2.0.0'] })),
  capabilities: orNull(
    Type.Record(Type.String(), Type.String(), {
      description: 'Last seen features of its agent, with their versions.',
      examples: [{ 'rule.sni': '0.9.0' }]
    })
  ),
  enrolled_at: timeOf('When its first code was redeemed.'),
  revoked_at: orNull(timeOf('When its token was revoked.')),
  enrollment_key_id: orNull(
    Type.String({ description: 'The enrollment key that admitted it; null: a one-time code did.' }),
    { examples: [null] }
  ),
  ephemeral_secs: orNull(
    Type.Integer({ description: 'Without a connection for this time, it is deleted with its rules.' }),
    { examples: [null] }
  ),
  instance_conflict: orNull(InstanceConflictShown, { examples: [null] })
})
export type ClientRow = Static<typeof Row> & Readonly<Record<string, unknown>>

export const fieldsIn = (filled: SlotReader) => filled(recordFieldSlots.client)

/** A client with the fields that other plugins add. */
export const clientRow = (filled: SlotReader) => {
  const added = recordFields.shown(fieldsIn(filled))
  return Type.Unsafe<ClientRow>(closed({ ...Row.properties, ...added }, { $id: 'Client' }))
}

export const { client_name: ClientName, address: Address } = Row.properties

interface Services {
  readonly peers: Pick<Peers, 'find'>
  readonly clock: Clock
  readonly filled: SlotReader
  readonly principal?: Principal | null // the caller; null or absent: one who sees everything
}

export async function toClientRows(
  clients: readonly Client[],
  { peers, clock, filled, principal = null }: Services,
  em: EntityManager
): Promise<ClientRow[]> {
  const ids = clients.map(({ id }) => id)
  const fields = await recordFields.show(fieldsIn(filled), ids, { principal, em })
  const conflicts = await loadConflicts(ids, clock.now(), em)
  const admissions = await loadAdmissions(ids, em)
  return clients.map(client => ({
    ...toCoreRow(client, admissions.get(client.id), peers),
    instance_conflict: conflicts.get(client.id) ?? null,
    ...fields(client.id)
  }))
}

export async function toClientRow(client: Client, services: Services, em: EntityManager): Promise<ClientRow> {
  const [row] = await toClientRows([client], services, em)
  if (!row) throw new TypeError(`client ${client.id} has no row`)
  return row
}

/** Hides where the client is. */
export const withoutAddresses = (row: ClientRow): ClientRow => ({
  ...row,
  address: null,
  remote_addr: null,
  instance_conflict: null
})

/** Only `peers` knows if the client is connected; the store has past connections. */
function toCoreRow(
  client: Client,
  admission: Admission | undefined,
  peers: Pick<Peers, 'find'>
): Omit<Static<typeof Row>, 'instance_conflict'> {
  const live = client.revokedAt ? undefined : peers.find(client.id)
  const presence = live ? 'connected' : 'disconnected'
  return {
    client_id: client.id,
    client_name: client.name,
    address: client.address ?? null,
    state: client.revokedAt ? 'revoked' : admission?.pendingSince ? 'pending' : presence,
    connected: live !== undefined,
    remote_addr: live?.remoteAddr ?? null,
    connected_at: timestampOrNull(live?.connectedAt),
    last_seen_at: timestampOrNull(client.lastSeenAt),
    agent_version: client.agentVersion ?? null,
    capabilities: client.capabilities ?? null,
    enrolled_at: timestamp(client.enrolledAt),
    revoked_at: timestampOrNull(client.revokedAt),
    enrollment_key_id: admission?.keyId ?? null,
    ephemeral_secs: admission?.ephemeralSecs ?? null
  }
}
