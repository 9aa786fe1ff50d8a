import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** The last conflict of two agents with the bundle of a client. */
export const InstanceConflictRow = defineEntity({
  name: 'InstanceConflict',
  tableName: 'clients_instance_conflict',
  properties: {
    clientId: p.string().length(26).primary(),
    since: p.bigint('number'), // ms since 1970, UTC
    seenAt: p.bigint('number'),
    remoteAddrs: p.json().$type<readonly string[]>() // of the two agents, when it was last seen
  }
})
export type InstanceConflictRow = InferEntity<typeof InstanceConflictRow>

/** A client that an enrollment key admitted. Clients that one-time codes admitted have no row. */
export const Admission = defineEntity({
  name: 'Admission',
  tableName: 'clients_admission',
  properties: {
    clientId: p.string().length(26).primary(),
    keyId: p.string().length(26).index('clients_admission_key_id_index'),
    pendingSince: p.bigint('number').nullable().index('clients_admission_pending_since_index'), // ms since 1970; null: approved
    ephemeralSecs: p.integer().nullable(), // null: stays
    offlineSince: p.bigint('number').nullable(), // running time of the servers, ms; null: connected, or not seen offline yet
    lastSessionAt: p.bigint('number').nullable() // start of the last session before offlineSince
  }
})
export type Admission = InferEntity<typeof Admission>
