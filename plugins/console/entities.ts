import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** How often something changed for an audience. Only servers that share the store write it. */
export const ConsoleChange = defineEntity({
  name: 'ConsoleChange',
  tableName: 'console_change',
  properties: {
    audience: p.string().length(32).primary(), // a user id, '' for superadmins, '*' for everybody
    count: p.bigint('number'),
    changedAt: p.bigint('number') // ms
  }
})
export type ConsoleChange = InferEntity<typeof ConsoleChange>
