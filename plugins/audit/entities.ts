import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { Decision } from '../http/exports.ts'

/** A recorded decision. Aggregated refusals share one entry, with the data of the first. */
export const Entry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  indexes: [
    { name: 'audit_entry_timestamp_id_index', properties: ['timestamp', 'id'] },
    { name: 'audit_entry_outcome_timestamp_id_index', properties: ['outcome', 'timestamp', 'id'] },
    {
      name: 'audit_entry_actor_outcome_timestamp_id_index',
      properties: ['actor', 'outcome', 'timestamp', 'id']
    },
    { name: 'audit_entry_action_timestamp_id_index', properties: ['action', 'timestamp', 'id'] },
    { name: 'audit_entry_resource_id_timestamp_id_index', properties: ['resourceId', 'timestamp', 'id'] },
    {
      name: 'audit_entry_resource_name_timestamp_id_index',
      properties: ['resourceName', 'timestamp', 'id']
    },
    { name: 'audit_entry_request_id_index', properties: ['requestId'] }
  ],
  properties: {
    id: p.string().length(26).primary(),
    timestamp: p.bigint('number'), // ms since 1970, UTC
    actor: p.string().length(32).nullable(),
    role: p.string().length(10).$type<Decision['role']>().nullable(),
    authMethod: p.string().length(16).$type<Decision['authMethod']>(),
    remoteAddr: p.string().length(64).nullable(), // null: several addresses, beyond the limit per minute
    method: p.string().length(10),
    path: p.string().length(512),
    action: p.string().length(64),
    resourceKind: p.string().length(32).nullable(),
    resourceId: p.string().length(255).nullable(),
    resourceName: p.string().length(63).nullable(), // of a rule, at the time of the change
    outcome: p.string().length(5).$type<Decision['outcome']>(),
    status: p.integer().nullable(), // null: the change is made, its response is pending or lost
    reason: p.string().length(64).nullable(),
    changes: p.json().$type<NonNullable<Decision['changes']>>().nullable(),
    requestId: p.string().length(64),
    count: p.bigint('number')
  }
})
export type Entry = InferEntity<typeof Entry>
