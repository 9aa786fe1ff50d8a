import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** How often something has changed for a user, where servers share the store. */
export const ConsoleChange = defineEntity({
  name: 'ConsoleChange',
  tableName: 'console_change',
  properties: {
    whose: p.string().length(32).primary(), // '' is what superadmins see, '*' what everybody sees
    number: p.bigint('number'),
    at: p.bigint('number') // ms
  }
})
export type ConsoleChange = InferEntity<typeof ConsoleChange>
