import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** Client and user are ids without foreign keys: slot fills delete the grants of a deleted client or user. */
export const Grant = defineEntity({
  name: 'Grant',
  tableName: 'grants',
  properties: {
    id: p.string().length(26).primary(),
    userId: p.string().length(32).index('grants_user_id_index'),
    clientId: p.string().length(26).nullable().index('grants_client_id_index'), // null: every client
    portFrom: p.integer(),
    portTo: p.integer(),
    protocols: p.json().$type<readonly ('tcp' | 'udp')[]>(),
    targets: p.json().$type<readonly string[] | null>().nullable(), // in the form of formatTarget; null: any
    note: p.string().length(255).nullable(),
    createdAt: p.bigint('number') // ms since 1970, UTC
  }
})
export type Grant = InferEntity<typeof Grant>
