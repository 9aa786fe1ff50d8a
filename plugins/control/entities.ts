import { defineEntity, p } from '@mikro-orm/core'

/** See client-generations.ts. */
export const ClientGeneration = defineEntity({
  name: 'ClientGeneration',
  tableName: 'control_generation',
  properties: { clientId: p.string().length(26).primary(), salt: p.string().length(32) }
})
