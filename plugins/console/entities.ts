import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** How often something changed for an audience. Only servers that share the store write it. */
export const ConsoleChange = defineEntity({
  name: 'ConsoleChange',
  tableName: 'console_change',
  properties: {
    audience: p.string().length(32).primary(), // a user id, ':' and a client id, '' for overseers, '*' for those who may see all clients
    count: p.bigint('number'),
    changedAt: p.bigint('number').index('console_change_changed_at_index') // ms
  }
})
export type ConsoleChange = InferEntity<typeof ConsoleChange>
