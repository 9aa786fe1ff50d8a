import { type Static, Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Peers } from '../../kernel/control/peers.ts'
import type { Client } from '../../kernel/identity/entities.ts'

const Time = () => Type.String({ format: 'date-time' })
const OrNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const ClientRow = Type.Object(
  {
    client_id: Type.String({ description: 'ULID; never changes.' }),
    client_name: Type.String({ description: 'Two clients may have the same name.' }),
    address: OrNull(Type.String({ description: 'Public host of the forwarded ports.' })),
    state: Type.Union([Type.Literal('connected'), Type.Literal('disconnected'), Type.Literal('revoked')]),
    connected: Type.Boolean(),
    remote_addr: OrNull(Type.String()),
    connected_at: OrNull(Time()),
    last_seen_at: OrNull(Time()),
    agent_version: OrNull(Type.String()),
    capabilities: OrNull(Type.Record(Type.String(), Type.String())),
    enrolled_at: Time(),
    revoked_at: OrNull(Time())
  },
  { additionalProperties: false }
)
export type ClientRow = Static<typeof ClientRow>

/** `peers` decides whether the client is connected; the store knows only past connections. */
export function clientRowOf(client: Client, peers: Pick<Peers, 'find'>): ClientRow {
  const live = client.revokedAt ? undefined : peers.find(client.id)
  return {
    client_id: client.id,
    client_name: client.name,
    address: client.address ?? null,
    state: client.revokedAt ? 'revoked' : live ? 'connected' : 'disconnected',
    connected: live !== undefined,
    remote_addr: live?.remoteAddr ?? null,
    connected_at: timeOf(live?.connectedAt),
    last_seen_at: timeOf(client.lastSeenAt),
    agent_version: client.agentVersion ?? null,
    capabilities: client.capabilities ?? null,
    enrolled_at: timestamp(client.enrolledAt),
    revoked_at: timeOf(client.revokedAt)
  }
}

const timeOf = (ms: number | null | undefined): string | null => (ms ? timestamp(ms) : null)
