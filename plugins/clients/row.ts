import { type Static, Type } from 'typebox'
import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts'
import type { Peers } from '../../kernel/control/peers.ts'
import { closed, orNull, Time } from '../../kernel/http/schema.ts'
import type { Client } from '../../kernel/identity/entities.ts'

export const ClientRow = closed({
  client_id: Type.String({ description: 'ULID; never changes.' }),
  client_name: Type.String({ description: 'Two clients may have the same name.' }),
  address: orNull(Type.String({ description: 'Public host of the forwarded ports.' })),
  state: Type.Union([Type.Literal('connected'), Type.Literal('disconnected'), Type.Literal('revoked')]),
  connected: Type.Boolean(),
  remote_addr: orNull(Type.String()),
  connected_at: orNull(Time),
  last_seen_at: orNull(Time),
  agent_version: orNull(Type.String()),
  capabilities: orNull(Type.Record(Type.String(), Type.String())),
  enrolled_at: Time,
  revoked_at: orNull(Time)
})
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
    connected_at: timestampOrNull(live?.connectedAt),
    last_seen_at: timestampOrNull(client.lastSeenAt),
    agent_version: client.agentVersion ?? null,
    capabilities: client.capabilities ?? null,
    enrolled_at: timestamp(client.enrolledAt),
    revoked_at: timestampOrNull(client.revokedAt)
  }
}
